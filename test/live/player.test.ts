import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Browser } from 'playwright-core'
import { assertAccessible } from '../support/browser/accessibility.ts'
import { launchBrowser, type Pages, servePages, skip } from '../support/browser/browser.ts'
import { openPlayer } from '../support/browser/player-page.ts'
import { call, kinora, query, type Service, sandboxKey, waitFor } from '../support/harness.ts'
import { type Broadcast, broadcastClock, pictureTime } from '../support/live/burnt-clock.ts'
import { rtmpUrl } from '../support/live/encoders.ts'
import { createLiveStream, type LiveStream } from '../support/live/live-streams.ts'
import { withoutEncoding } from '../support/programs.ts'

// The player page of live streams in a real browser, with ffmpeg as the encoder.

const sinceMs = Date.now()
const small = { size: '320x180', rate: 10, sinceMs }
/** Too small for encoded qualities, which would take CPU time. */
const large = { size: '400x224', rate: 10, sinceMs }

let service: Service
let browser: Browser | undefined
let pages: Pages | undefined
const ends: (() => unknown)[] = []

before(async () => {
  if (skip) return
  browser = await launchBrowser()
  // Recordings become videos, which nobody plays here.
  service = await kinora({ after: (end) => ends.push(end) }, withoutEncoding())
  const sdk = readFileSync(fileURLToPath(import.meta.resolve('@api.video/player-sdk')))
  pages = await servePages(({ url }, response) => {
    const isSdk = url === '/sdk.js'
    const page = '<!doctype html><script src="/sdk.js"></script><div id="target"></div>'
    response.setHeader('content-type', isSdk ? 'text/javascript' : 'text/html').end(isSdk ? sdk : page)
  })
})
after(async () => {
  await browser?.close()
  pages?.close()
  for (const end of ends) await end()
})

/** Starts an encoder. It stops with the test at the latest. */
function publish(
  t: TestContext,
  { streamKey }: LiveStream,
  clock: Parameters<typeof broadcastClock>[1],
): Broadcast {
  const broadcast = broadcastClock(`${rtmpUrl(service)}/${streamKey}`, clock)
  t.after(() => broadcast.stop())
  return broadcast
}

const playing = 'video && !video.paused && video.readyState >= 3 && video.currentTime > 0.5'
const isLive = `document.querySelector('media-live-button')?.hasAttribute('mediatimeislive')`
const notice = `document.querySelector('.notice')?.dataset.kind`
const configOf = (url: string) => call(`${url}/config.json`, { key: '' })

describe('the player of a live stream', { skip }, () => {
  test('waits, plays, survives a reconnect, ends and starts again without a reload', async (t) => {
    const metadata = [{ key: 'user', value: '__user__' }]
    const stream = await createLiveStream(service, {
      metadata,
      showViewers: true,
      record: true,
    })
    const { liveStreamId } = stream
    const url = `${service.url}/live/${liveStreamId}`
    const { page, until, evaluate, statusScreen, errors } = await openPlayer(
      t,
      browser!,
      `${url}?metadata[user]=ada&metadata[other]=x`,
    )
    await statusScreen('waiting')
    await assertAccessible(page)

    const publishedMs = Date.now()
    let encoder = publish(t, stream, small)
    await until(playing)
    t.diagnostic(`first frame after ${Date.now() - publishedMs} ms`)
    const readTime = () => evaluate<number>(pictureTime('video'))
    const time = await readTime()
    const latencyMs = Date.now() - sinceMs - time
    t.diagnostic(`latency ${latencyMs} ms`)
    assert.ok(latencyMs > 0 && time > publishedMs - sinceMs, `the clock shows ${time}`)
    await waitFor(async () => (await readTime()) > time)

    await until(`/^[0-9.]+ s latency$/.test(document.querySelector('.latency').textContent)`)
    await until(`document.querySelector('.viewers').textContent === '1 viewer'`)
    assert.equal(await page.textContent('.title'), 'Show')
    await assertAccessible(page)

    // Rewind as far as possible, and go back to live.
    await until('video.seekable.end(0) > 9')
    await page.keyboard.press('k')
    await until('video.paused')
    await page.keyboard.press('Home')
    await until(`video.currentTime < 1 && !video.seeking && ${isLive} === false`)
    await until(`/^[0-9]+:[0-9]{2} behind$/.test(document.querySelector('.latency').textContent)`)
    await page.locator('media-live-button').click()
    await until(`!video.paused && video.currentTime > 6 && ${isLive}`)

    await encoder.stop()
    await until(`${notice} === 'away'`)
    assert.equal(await page.textContent('.notice'), 'The stream will be back soon')
    assert.equal((await configOf(url)).body.state, 'away')
    await assertAccessible(page)
    encoder = publish(t, stream, large)
    await until(`video.videoWidth === 400 && video.readyState >= 3 && ${notice} !== 'away'`)

    // The session is in the analytics, with the metadata key that the live stream declares.
    const sessions = `${service.url}/analytics/live-streams/${liveStreamId}`
    await waitFor(async () => (await call(`${sessions}?metadata[user]=ada`)).body.data[0]?.watch.seconds > 1)
    const [{ session, watch }, ...more] = (await call(sessions)).body.data
    assert.deepEqual([session.metadata, watch.plays], [[{ key: 'user', value: 'ada' }], 1])
    assert.deepEqual(more, [], 'a reconnect of the encoder is not another session')
    const viewers = `${service.url}/data/metrics/ccv/live?filterBy[mediaId]=${liveStreamId}`
    await waitFor(async () => (await call(viewers)).body.data === 1)
    let events = ''
    await waitFor(
      async () => {
        const { body, text } = await call(`${service.url}/analytics/sessions/${session.sessionId}/events`)
        events = text
        return body.data.some(({ type }: { type: string }) => type === 'seek.backward')
      },
      () => events,
    )
    assert.equal((await call(sessions, { key: sandboxKey })).status, 404)

    await call(`${service.url}/live-streams/${liveStreamId}/complete`, { method: 'PUT' })
    await statusScreen('ended')
    await assertAccessible(page)
    await encoder.stop()

    // The recording is linked as soon as it is there and public.
    await waitFor(async () => (await call(`${service.url}/videos`)).body.data.length > 0)
    const [{ videoId }] = (await call(`${service.url}/videos`)).body.data
    await call(`${service.url}/videos/${videoId}`, { method: 'PATCH', json: { public: false } })
    assert.equal((await configOf(url)).body.live.recording, null)
    await call(`${service.url}/videos/${videoId}`, { method: 'PATCH', json: { public: true } })
    await page.locator(`a[href="/vod/${videoId}"]`).waitFor()
    await assertAccessible(page)

    publish(t, stream, small)
    await until(`${playing} && document.querySelector('.status-screen') === null`)
    await testSdk(t, liveStreamId)
    await testOpening(t, url)
    assert.deepEqual(errors, [])

    await call(`${service.url}/live-streams/${liveStreamId}`, { method: 'DELETE' })
    await statusScreen('missing')
    await waitFor(async () => {
      const rows = await query(service.database, 'select from viewing_sessions where media_id = $1', [
        liveStreamId,
      ])
      return rows.length === 0
    })
  })

  test('goes on after a reconnect if the audio had ended before the video', async (t) => {
    const stream = await createLiveStream(service, { record: false })
    const url = `${service.url}/live/${stream.liveStreamId}`
    const { until, statusScreen } = await openPlayer(t, browser!, url)
    await statusScreen('waiting')
    // The last segment is one frame without audio.
    publish(t, stream, { ...small, seconds: { audio: 5.99, video: 6.1 } })
    await until(playing)
    await until(`${notice} === 'away'`)
    publish(t, stream, large)
    await until(`video.videoWidth === 400 && video.readyState >= 3 && ${notice} !== 'away'`)
  })

  test('of a private live stream uses up its token when there is something to play', async (t) => {
    const stream = await createLiveStream(service, { record: false, public: false })
    const { player } = stream.assets
    const { searchParams, pathname } = new URL(player)
    const config = (more = '') =>
      call(`${service.url}${pathname}/config.json?token=${searchParams.get('token')}${more}`, { key: '' })
    assert.equal((await call(service.url + pathname, { key: '' })).status, 403)
    const before = (await config()).body
    assert.deepEqual([before.state, before.hls, before.live.viewers], ['waiting', '', null])

    const { until, statusScreen } = await openPlayer(t, browser!, player)
    await statusScreen('waiting')
    assert.deepEqual(await query(service.database, 'select from playback_sessions'), [])
    publish(t, stream, small)
    await until(playing)
    assert.equal((await query(service.database, 'select from playback_sessions')).length, 1)
    const stranger = await config(`&wait=${before.live.version}`)
    assert.deepEqual([stranger.status, stranger.body.state, stranger.body.hls], [403, 'private', ''])

    // The URL of a live stream that was made private is of no use, and the viewers of before notice.
    await call(`${service.url}/live-streams/${stream.liveStreamId}`, { method: 'DELETE' })
    await statusScreen('missing')
  })

  test('is missing for ids that do not exist', async () => {
    for (const id of [`li${'A'.repeat(22)}`, 'x', '%3Cscript%3E']) {
      const { status, body } = await call(`${service.url}/live/${id}/config.json?wait=live`, { key: '' })
      assert.deepEqual([status, body.state, body.videoId], [404, 'missing', ''])
    }
  })
})

/** A page that is opened during a broadcast, with hls.js and in browsers that play HLS themselves. */
async function testOpening(t: TestContext, url: string): Promise<void> {
  for (const script of ['', 'delete window.MediaSource; delete window.ManagedMediaSource']) {
    const context = await browser!.newContext({ viewport: { width: 640, height: 360 } })
    t.after(() => context.close())
    await context.addInitScript({ content: script })
    const { page, until, evaluate } = await openPlayer(t, browser!, url, { context })
    await until('video?.readyState >= 2')
    assert.equal(await evaluate('video.paused'), true, 'it does not play without a click')
    await page.click('.big')
    await until(playing)
    assert.equal(await evaluate(`video.currentSrc.startsWith('blob:')`), script === '')
  }
}

/** The published, unmodified SDK on a page of another origin. */
async function testSdk(t: TestContext, id: string): Promise<void> {
  const page = await browser!.newPage()
  t.after(() => page.close())
  await page.goto(pages!.url)
  const options = JSON.stringify({ id, live: true, muted: true, iframeUrl: `${service.url}/\${type}/\${id}` })
  const result = await page.evaluate(`new Promise((resolve) => {
    const player = new PlayerSdk('#target', ${options})
    const seen = new Set()
    for (const name of ['ready', 'play', 'firstplay', 'pause']) player.addEventListener(name, () => seen.add(name))
    player.addEventListener('ready', () => player.play())
    player.addEventListener('timeupdate', async ({ currentTime }) => {
      if (seen.has('pause')) return
      player.pause()
      await new Promise((paused) => player.addEventListener('pause', paused))
      resolve([[...seen], await player.isLiveStream(), await player.getPaused(), currentTime > 0])
    })
  })`)
  assert.deepEqual(result, [['ready', 'play', 'firstplay', 'pause'], true, true, true])
}
