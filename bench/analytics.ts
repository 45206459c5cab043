import type pg from 'pg'
import { formatMs, medianMs, withApi } from './reads.ts'
import { authorization } from './servers.ts'
import { fillSessions, videoOf } from './sessions.ts'
import { printTable, type Row } from './table.ts'

const days = 29
const eventsPerSession = 10

/**
 * Times each analytics read of a month with 100,000 sessions and a million events. The reference is counting these
 * sessions in SQL, which reads each session once.
 */
export async function analytics([sessions = '100000']: string[]): Promise<void> {
  await withApi(async (url, client) => {
    await fillSessions(client, {
      sessions: Number(sessions),
      days: days + 1,
      videos: 100,
      eventsEach: eventsPerSession,
      eventDays: days + 1,
    })
    await insertVideo(client)
    const countMs = await medianMs(() =>
      client.query('select count(*) from viewing_sessions where watch_seconds >= 0'),
    )
    const rows: Row[] = []
    for (const path of paths()) {
      const readMs = await medianMs(() => read(url + path))
      rows.push({
        measured: path,
        kinora: formatMs(readMs),
        reference: formatMs(countMs),
        ratio: readMs / countMs,
      })
    }
    printTable(`Analytics reads of ${sessions} sessions, compared with counting them in SQL`, rows)
  })
}

async function insertVideo(client: pg.Client): Promise<void> {
  await client.query(
    `insert into videos (id, environment, title, description, public, panoramic, mp4_support, tags, metadata,
                         tag_terms, metadata_terms, source_type, created_at, updated_at)
     values ($1, 'production', '', '', true, false, true, '{}', '[]', '{}', '{}', 'upload', now(), now())`,
    [videoOf(0)],
  )
  await client.query(
    `insert into encodings (video_id, environment, state, plan, created_at)
     values ($1, 'production', 'encoded', '{"frames": 15000, "rate": {"num": 25, "den": 1}}', now())`,
    [videoOf(0)],
  )
}

function paths(): string[] {
  const month = `from=${new Date(Date.now() - days * 24 * 60 * 60 * 1000).toISOString()}`
  return [
    '/data/metrics/play/count',
    `/data/metrics/play/count?${month}`,
    '/data/metrics/play/total',
    `/data/metrics/watch-time/average?${month}&filterBy[mediaId]=${videoOf(5)}`,
    `/data/metrics/view/count?${month}&unique=true`,
    `/data/metrics/ccv/peak?${month}`,
    `/data/metrics/ccv/peak?${month}&unique=true`,
    '/data/metrics/ccv/live',
    `/data/buckets/play/media-id?${month}`,
    `/data/buckets/play-rate/browser?${month}`,
    `/data/buckets/view/referrer?${month}&unique=true`,
    `/data/buckets/ccv-peak/country?${month}`,
    '/data/buckets/play-total/media-id',
    '/data/timeseries/play',
    `/data/timeseries/play?${month}`,
    `/data/timeseries/play?${month}&interval=hour`,
    `/data/timeseries/ccv-peak?${month}&interval=hour`,
    `/data/timeseries/ccv-average?${month}&unique=true`,
    '/analytics/metadata',
    '/analytics/metadata/user',
    `/analytics/metadata/class?sortBy=completion&videoId=${videoOf(0)}`,
    '/analytics/metadata/user?metadata[class]=class+7&sortBy=watchTime',
    '/analytics/metadata/class?value=class+7',
    '/analytics/metadata/user?value=user+17',
    `/analytics/videos/${videoOf(0)}/retention`,
    `/analytics/videos/${videoOf(0)}/retention?by=class`,
    `/analytics/videos/${videoOf(0)}/retention?by=user&metadata[class]=class+3`,
  ]
}

async function read(url: string): Promise<void> {
  const response = await fetch(url, { headers: { authorization } })
  const body = await response.text()
  if (response.status !== 200) throw new Error(`${url}: ${body}`)
}
