import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { call, type Service, temporaryFolder } from '../../test/support/harness.ts'
import { day, hour, insertSessions, minute, type Session } from '../../test/support/session-rows.ts'
import { createVideo, uploadVideo, waitForEncoding } from '../../test/support/videos.ts'
import { makeFilm } from './scenes.ts'

const films = [
  {
    title: 'A quiet evening',
    tags: ['nature', 'relaxation'],
    metadata: { series: 'Landscapes', season: '1' },
  },
  {
    title: 'Product tour: from upload to embed',
    tags: ['tutorial'],
    metadata: { course: 'basics', level: '1' },
  },
  { title: 'Night sky over the valley', tags: ['nature', 'time lapse'], metadata: { series: 'Landscapes' } },
  { title: 'Release notes 2.4 in three minutes', tags: ['news'], metadata: { release: '2.4' } },
  { title: 'Winter in the mountains', tags: ['nature'], metadata: { series: 'Landscapes', season: '2' } },
  {
    title: 'Webinar: captions that people read',
    tags: ['webinar', 'accessibility'],
    metadata: { course: 'pro' },
  },
  { title: 'Customer training, part 1', tags: ['training'], metadata: { course: 'training', lesson: '1' } },
  { title: 'Customer training, part 2', tags: ['training'], metadata: { course: 'training', lesson: '2' } },
]

export type Content = { films: string[]; liveStreamId: string }

const toPairs = (metadata: object) => Object.entries(metadata).map(([key, value]) => ({ key, value }))

/** Fills a service with what a small team could have in it. */
export async function createContent(service: Service, browser: Browser): Promise<Content> {
  const ids = await createFilms(service, browser)
  await createVideo(service, { title: 'Keynote (not uploaded yet)', tags: ['event'] })
  await insertSessions(service.database, viewings(ids))
  return { films: ids, liveStreamId: await createLiveStreams(service) }
}

async function createFilms(service: Service, browser: Browser): Promise<string[]> {
  const folder = await temporaryFolder({ after() {} })
  const ids: string[] = []
  for (const [index, { metadata, ...film }] of films.entries()) {
    const file = join(folder, `${index}.mp4`)
    await makeFilm(browser, { index, seconds: 14 + index * 3, file })
    ids.push(await uploadVideo(service, file, { ...film, metadata: toPairs(metadata), public: index !== 5 }))
  }
  for (const id of ids) await waitForEncoding(service, id)
  return ids
}

async function createLiveStreams(service: Service): Promise<string> {
  const post = async (path: string, json: object) =>
    (await call(`${service.url}${path}`, { method: 'POST', json })).body
  const { liveStreamId } = await post('/live-streams', { name: 'Weekly update', record: true })
  await post('/live-streams', { name: 'Town hall', public: false })
  return liveStreamId
}

const countries = ['DE', 'FR', 'US', 'GB', 'JP', 'BR', 'IN']
const browsers = ['Chrome', 'Safari', 'Firefox', 'Edge']
const systems = ['Windows', 'iOS', 'Android', 'macOS']
const devices = ['desktop', 'phone', 'phone', 'tablet']
const referrers = ['https://www.example.com/course', 'https://news.example.org/', '']

/** The same numbers at every run, so that screenshots change only if the page does. */
function createRandom(): () => number {
  let state = 42
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}

/** Two months of viewing, more on working days and in the evening. */
function viewings(ids: string[]): Session[] {
  const random = createRandom()
  const pick = <T>(values: T[]) => values[Math.floor(random() ** 1.6 * values.length)]!
  const now = Date.now()
  const sessions: Session[] = []
  for (let daysAgo = 60; daysAgo >= 0; daysAgo--) {
    const weekday = new Date(now - daysAgo * day).getUTCDay()
    const count = Math.round((14 + random() * 10 + (60 - daysAgo) / 4) * (weekday % 6 === 0 ? 0.5 : 1))
    for (let i = 0; i < count; i++) {
      const loadedAt = new Date(now - daysAgo * day - random() * 8 * hour - minute)
      const seconds = 3 + Math.floor(random() * 12)
      sessions.push({
        media_id: pick(ids),
        loaded_at: loadedAt,
        seen_at: new Date(loadedAt.getTime() + seconds * 1_000),
        plays: 1,
        watch_seconds: seconds,
        watched: `{[0,${seconds})}`,
        country: pick(countries),
        continent: 'EU',
        browser_name: pick(browsers),
        os_name: pick(systems),
        device_type: pick(devices),
        referrer: pick(referrers),
        metadata: {
          plan: pick(['free', 'team', 'business']),
          account: `account-${1 + Math.floor(random() * 40)}`,
        },
        viewer: `viewer ${Math.floor(random() * 300)}`,
        ready_ms: 400,
      })
    }
  }
  return sessions
}
