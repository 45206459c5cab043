import { setTimeout as delay } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser } from '../../test/support/browser/browser.ts'
import { pictureTime } from '../../test/support/live/burnt-clock.ts'
import { serveBarePage } from '../bare-page.ts'
import { percentile, Resources, withTemporaryFolder } from '../servers.ts'
import { atMost, type Goal, type Row } from '../table.ts'
import { clipMs, makeClip } from './clip.ts'
import { startEncoders } from './encoders.ts'
import { type LiveService, startLive } from './service.ts'

const settleMs = 10_000
const samples = 120
const sampleEveryMs = 250
const maxStallMs = 20_000
const starts = 5
const viewport = { width: 1280, height: 720 }

export const autoplay = '--autoplay-policy=no-user-gesture-required'

/** Camera to screen in our player and in one that only knows plain HLS; publishing to the first frame. */
export async function latency(): Promise<Row[]> {
  const browser = await launchBrowser([autoplay])
  if (!browser) return [{ measured: 'camera to screen', kinora: 'not measured: TEST_CHROMIUM=none' }]
  const rows: Row[] = []
  await withTemporaryFolder(async (folder) => {
    await using resources = new Resources()
    resources.add(() => browser.close())
    const clip = await makeClip(folder, '720p')
    const service = await startLive(resources, folder)
    rows.push(...(await cameraToScreen(service, browser, clip)))
    rows.push(await publishToScreen(service, browser, clip))
  })
  return rows
}

async function cameraToScreen(service: LiveService, browser: Browser, clip: string): Promise<Row[]> {
  const [stream] = await service.createStreams(1)
  const { liveStreamId } = stream!
  const encoders = await service.broadcast([stream!], clip)
  const media = `${service.url}/live/${liveStreamId}`
  const ours = await sampleLatency(browser, `${media}?autoplay=true&muted=true`, encoders.startMs)
  const bare = await serveBarePage(`${media}.m3u8`, { lowLatencyMode: false })
  const plain = await sampleLatency(browser, bare.url, encoders.startMs)
  bare.close()
  await encoders.stop()
  await service.call('PUT', `/live-streams/${liveStreamId}/complete`)
  return [
    latencyRow('camera to screen in our player, p50', ours, 0.5, 2),
    latencyRow('the same, p95', ours, 0.95, 3),
    latencyRow('camera to screen in a player for plain HLS, p95', plain, 0.95, 8),
  ]
}

type Sample = { latencyMs: number; height: number }

const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`
const goalOf = (limit: number, ms: number): Goal => atMost(limit, ms / 1000, ' s')

export function latencyRow(measured: string, all: Sample[], fraction: number, limit: number): Row {
  const ms = percentile(
    all.map(({ latencyMs }) => latencyMs),
    fraction,
  )
  const passedThrough = all.filter(({ height }) => height === viewport.height).length / all.length
  const note = passedThrough < 1 ? ` (${Math.round(passedThrough * 100)} % in 720p)` : ''
  return { measured, kinora: seconds(ms) + note, goal: goalOf(limit, ms) }
}

/** Reads the clock in the pictures of a player, after it has settled. */
export async function sampleLatency(browser: Browser, url: string, startMs: number): Promise<Sample[]> {
  const page = await browser.newPage({ viewport })
  await page.goto(url)
  await firstFrameOf(page)
  await delay(settleMs)
  const read: Sample[] = []
  for (let i = 0; i < samples; i++) {
    const { at, picture, height } = await page.evaluate<{ at: number; picture: number; height: number }>(
      readClock,
    )
    // The clip is repeated, so the clock starts again. No player is so far behind: ours goes back to live earlier.
    const latencyMs = (((at - startMs - picture) % clipMs) + clipMs) % clipMs
    read.push({ latencyMs, height })
    await delay(sampleEveryMs)
  }
  await page.close()
  return read
}

/** The picture that is shown next, and when. */
const readClock = `new Promise((resolve, reject) => {
  const video = document.querySelector('video')
  const timer = setTimeout(() => {
    const { currentTime, readyState, paused, buffered } = video
    const end = buffered.length > 0 ? buffered.end(buffered.length - 1) : null
    reject(new Error('no frame for ${maxStallMs} ms: ' + JSON.stringify({ currentTime, readyState, paused, end })))
  }, ${maxStallMs})
  video.requestVideoFrameCallback(() => {
    clearTimeout(timer)
    const at = Date.now()
    resolve({ at, picture: ${pictureTime('video')}, height: video.videoHeight })
  })
})`

/** Runs in a page. The player creates its video element when there is something to play. */
const watchFirstFrame = `(() => {
  const watched = new WeakSet()
  const timer = setInterval(() => {
    const video = document.querySelector('video')
    if (!video || watched.has(video)) return
    watched.add(video)
    video.requestVideoFrameCallback(() => {
      clearInterval(timer)
      window.firstFrameAt = Date.now()
    })
  }, 5)
})()`

/** When the page has shown its first frame, in milliseconds since 1970. */
async function firstFrameOf(page: Page): Promise<number> {
  await page.evaluate(watchFirstFrame)
  for (let tries = 0; tries < 3_000; tries++) {
    const at = await page.evaluate<number | undefined>('window.firstFrameAt')
    if (at !== undefined) return at
    await delay(20)
  }
  throw new Error(`${page.url()} showed no frame in a minute`)
}

/** A player waits for the broadcast. The time begins when the encoder connects. */
async function publishToScreen(service: LiveService, browser: Browser, clip: string): Promise<Row> {
  const times: number[] = []
  for (const { liveStreamId, streamKey } of await service.createStreams(starts)) {
    const page = await browser.newPage({ viewport })
    await page.goto(`${service.url}/live/${liveStreamId}?autoplay=true&muted=true`)
    await page.locator('.status-screen').waitFor()
    const shown = firstFrameOf(page)
    const encoders = await startEncoders({ port: service.rtmpPort, keys: [streamKey], clip })
    times.push((await shown) - encoders.connectMs)
    await page.close()
    await encoders.stop()
    await service.call('PUT', `/live-streams/${liveStreamId}/complete`)
  }
  const slowest = Math.max(...times)
  return {
    measured: `publishing to the first frame of a waiting player, p50 and the slowest of ${starts}`,
    kinora: `${seconds(percentile(times, 0.5))}, ${seconds(slowest)}`,
    goal: goalOf(3, percentile(times, 0.5)),
  }
}
