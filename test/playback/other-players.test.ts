import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser, type Pages, skip } from '../support/browser/browser.ts'
import { type PlayerName, playerNames, servePlayers } from '../support/browser/published-players.ts'
import { call, kinora, type Service, temporaryFolder, timeoutMs, waitFor } from '../support/harness.ts'
import { broadcastClock } from '../support/live/burnt-clock.ts'
import { rtmpUrl } from '../support/live/encoders.ts'
import { createLiveStream } from '../support/live/live-streams.ts'
import { type GatedFfmpeg, gatedFfmpeg } from '../support/media/gated-ffmpeg.ts'
import { durationsIn, makeClip } from '../support/media/media.ts'
import { withoutThumbnails } from '../support/programs.ts'
import { encodingOf, uploadVideo } from '../support/videos.ts'

// Published players, on a page of another origin. All of them watch the same video or broadcast at the same time.

/** The code that plays `url` in `video`. Problems from which a player recovers are no errors. */
const scripts: Record<PlayerName, string> = {
  'hls.js': `const hls = new Hls()
      hls.on('hlsError', (_, { details, fatal }) => fatal && report(details))
      hls.attachMedia(video)
      hls.loadSource(url)`,
  // It looks for closed captions in the segment that is still being received, and fails if there are only a few others.
  'Shaka Player': `const player = new shaka.Player()
      player.configure('manifest.hls.disableClosedCaptionsDetection', true)
      player.addEventListener('error', ({ detail }) => report(detail))
      player.attach(video).then(() => player.load(url)).catch(report)`,
  'video.js': `const player = videojs(video)
      player.on('error', () => report(player.error().message))
      player.src({ src: url, type: 'application/vnd.apple.mpegurl' })`,
}

let gated: GatedFfmpeg
let service: Service
let browser: Browser | undefined
let pages: Pages | undefined
let folder: string
const ends: (() => unknown)[] = []

before(async () => {
  if (skip) return
  folder = await temporaryFolder({ after })
  gated = await gatedFfmpeg(folder, withoutThumbnails().KINORA_FFMPEG)
  browser = await launchBrowser()
  service = await kinora({ after: (end) => ends.push(end) }, { KINORA_FFMPEG: gated.path })
  pages = await servePlayers((name, parameters) => ({
    attributes: 'muted autoplay playsinline',
    url: parameters.get('url')!,
    script: `performance.setResourceTimingBufferSize(10_000)\n${scripts[name]}`,
  }))
})
after(async () => {
  await browser?.close()
  pages?.close()
  for (const end of ends) await end()
})

type OpenedPlayer = {
  name: string
  page: Page
  /** The status and URL of all responses with media. */
  responses: string[]
}

/** Each player has its own context: a browser opens six connections to a server, and a player keeps two of them waiting. */
function openPlayers(t: TestContext, url: string): Promise<OpenedPlayer[]> {
  const open = async (name: string) => {
    const context = await browser!.newContext()
    t.after(() => context.close())
    const page = await context.newPage()
    const responses: string[] = []
    page.on('response', (response) => {
      if (response.url().startsWith(service.url)) responses.push(`${response.status()} ${response.url()}`)
    })
    await page.goto(`${pages!.url}?${new URLSearchParams({ player: name, url })}`)
    return { name, page, responses }
  }
  return Promise.all(playerNames.map(open))
}

/** Waits until a condition is true for every player, or one of them reports an error. */
async function untilAll(opened: OpenedPlayer[], condition: string): Promise<void> {
  const until = async ({ name, page, responses }: OpenedPlayer) => {
    await page
      .waitForFunction(`errors.length > 0 || ${condition}`, undefined, { polling: 100 })
      .catch(() => {})
    const state = `({ errors, isMet: ${condition}, time: video.currentTime, ready: video.readyState })`
    const { isMet, ...rest } = await page.evaluate<{ isMet: boolean; errors: string[] }>(state)
    assert.ok(isMet, `${name}, ${condition}: ${JSON.stringify({ ...rest, responses: responses.slice(-5) })}`)
    assert.deepEqual(rest.errors, [], name)
  }
  await Promise.all(opened.map(until))
}

/**
 * No request has failed, and no playlist came from the browser's cache. Parts are in memory for some seconds only, and this
 * machine may take longer.
 */
async function assertRequests({ name, page, responses }: OpenedPlayer): Promise<void> {
  const failed = responses.filter((line) => !/^20[06] /.test(line) && !/-\d+\.\d+\.m4s$/.test(line))
  assert.deepEqual(failed, [], name)
  // Except for one that does not change any more.
  const cached = `(() => {
    const entries = performance.getEntriesByType('resource').filter(({ name }) => /m3u8/.test(name))
    const lastSizes = new Map(entries.map(({ name, encodedBodySize }) => [name, encodedBodySize]))
    return entries
      .filter(({ responseStatus, transferSize }) => responseStatus && !transferSize)
      .filter(({ name, encodedBodySize }) => encodedBodySize !== lastSizes.get(name))
      .map(({ name }) => name)
  })()`
  assert.deepEqual(await page.evaluate(cached), [], name)
}

const playlistsIn = ({ responses }: OpenedPlayer) => responses.filter((line) => /m3u8/.test(line)).length

describe('hls.js, Shaka Player and video.js', { skip, timeout: timeoutMs }, () => {
  test('play a video while it is being encoded, and reach its end', async (t) => {
    const seconds = 8
    const source = join(folder, 'growing.mp4')
    await makeClip(source, { size: '320x180', rate: '10', seconds })
    t.after(gated.encodeAll)
    await gated.encodeUntil(1)
    const id = await uploadVideo(service, source, { mp4Support: false })
    await waitFor(async () => (await encodingOf(service, id)).playable)
    const opened = await openPlayers(t, `${service.url}/vod/${id}/hls/manifest.m3u8`)
    await untilAll(opened, 'video.currentTime > 0')
    const before = opened.map(playlistsIn)
    await gated.encodeAll()
    await untilAll(opened, `video.currentTime > ${seconds} - 1`)
    for (const [i, player] of opened.entries()) {
      assert.ok(playlistsIn(player) > before[i]!, `${player.name} has loaded the playlist again`)
      await assertRequests(player)
    }
  })

  test('play a broadcast from beginning to end', async (t) => {
    const stream = await createLiveStream(service, { record: false })
    const clock = { size: '160x120', rate: 10, sinceMs: Date.now() }
    const broadcast = broadcastClock(`${rtmpUrl(service)}/${stream.streamKey}`, clock)
    t.after(() => broadcast.stop())
    const get = (url: string) => call(url, { key: '' })
    await waitFor(async () => (await get(stream.assets.hls)).status === 200)
    const opened = await openPlayers(t, stream.assets.hls)
    // At least five segments, of two seconds each.
    await untilAll(opened, 'video.currentTime > 11')
    await call(`${service.url}/live-streams/${stream.liveStreamId}/complete`, { method: 'PUT' })
    const [path] = (await get(stream.assets.hls)).text.match(/^\S+index\.m3u8$/m) ?? []
    const playlist = new URL(path!, stream.assets.hls).href
    await waitFor(async () => (await get(playlist)).text.includes('#EXT-X-ENDLIST'))
    const end = durationsIn((await get(playlist)).text).reduce((sum, duration) => sum + duration, 0)
    await untilAll(opened, `video.currentTime > ${end} - 1`)
    for (const player of opened) {
      assert.ok(playlistsIn(player) > 10, `${player.name} has loaded ${playlistsIn(player)} playlists`)
      await assertRequests(player)
    }
  })
})
