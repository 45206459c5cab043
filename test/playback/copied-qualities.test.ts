import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser, type Pages, skip } from '../support/browser/browser.ts'
import { type PlayerName, playerNames, servePlayers } from '../support/browser/published-players.ts'
import { kinora, query, temporaryFolder, timeoutMs } from '../support/harness.ts'
import { durationsIn, ffmpeg } from '../support/media/media.ts'
import { splitArgs, videoWithTone } from '../support/media/sources.ts'
import { withoutThumbnails } from '../support/programs.ts'
import { assertEncoded, media, uploadVideo } from '../support/videos.ts'

// Published players that switch between the copied quality and an encoded one as often as they can.

const rate = 10
const seconds = 22
const frames = rate * seconds

/**
 * The code that plays `url` in `video`. After each segment it selects the other quality for the next one and keeps what is
 * buffered. It buffers the whole video. video.js does that only while it plays.
 */
const players: Record<PlayerName, { minSwitches: number; start: string }> = {
  'hls.js': {
    // On a busy machine it has often begun to load the next segment before one is buffered.
    minSwitches: 2,
    start: `const hls = new Hls({ startLevel: 1, maxBufferLength: 0.1, maxMaxBufferLength: 0.1 })
      hls.on('hlsError', (_, { details, fatal }) => fatal && report(details))
      // One segment after the other. It would load those of the first quality until it has the playlist of the other one.
      hls.on('hlsFragBuffered', (_, { frag }) => {
        if (frag.type !== 'main' || frag.sn === 'initSegment') return
        hls.stopLoad()
        hls.loadLevel = 1 - frag.level
        hls.config.maxBufferLength = hls.config.maxMaxBufferLength = frag.end + 0.1
        hls.startLoad(-1)
      })
      hls.attachMedia(video)
      hls.loadSource(url)`,
  },
  'Shaka Player': {
    minSwitches: 5,
    start: `const player = new shaka.Player()
      player.configure({ abr: { enabled: false }, streaming: { bufferingGoal: 60 } })
      player.configure('manifest.hls.disableClosedCaptionsDetection', true)
      player.addEventListener('error', ({ detail }) => report(detail))
      player.addEventListener('segmentappended', ({ contentType }) => {
        if (contentType !== 'video') return
        player.selectVariantTrack(player.getVariantTracks().find(({ active }) => !active), false)
      })
      player.attach(video).then(() => player.load(url)).catch(report)`,
  },
  'video.js': {
    // It asks for a quality before it has appended the last segment, so that every second segment is soon enough.
    minSwitches: 1,
    start: `const player = videojs(video)
      player.on('error', () => report(player.error().message))
      player.on('xhr-hooks-ready', () => {
        const { vhs } = player.tech({ IWillNotUseThisInPlugins: true })
        vhs.selectPlaylist = () => vhs.playlists.main.playlists[Math.floor(appendedSegments() / 2) % 2]
      })
      player.playbackRate(0.1)
      player.src({ src: url, type: 'application/vnd.apple.mpegurl' })
      player.play()`,
  },
}

/** Each frame shows its number in columns, as `numberedFrames` describes it. */
const scriptOf = (name: PlayerName) => `
    const buffers = new Map()
    const addSourceBuffer = MediaSource.prototype.addSourceBuffer
    MediaSource.prototype.addSourceBuffer = function (type) {
      const buffer = addSourceBuffer.call(this, type)
      buffers.set(type.split('/')[0], buffer)
      return buffer
    }
    const rangesOf = ({ buffered }) =>
      Array.from({ length: buffered.length }, (_, i) => [buffered.start(i), buffered.end(i)])
    const segmentEnds = ${JSON.stringify(starts.slice(1).map((start) => start / rate))}
    const appendedSegments = () => {
      const appended = buffers.get('video')?.buffered
      return segmentEnds.filter((end) => appended?.length > 0 && appended.end(0) > end - 0.1).length
    }
    const isBuffered = () => [...buffers.values()].length === 2 && [...buffers.values()].every(({ buffered }) =>
      buffered.length > 0 && buffered.end(buffered.length - 1) > ${seconds} - 0.1)

    const canvas = Object.assign(document.createElement('canvas'), { width: 12, height: 6 })
    const context = canvas.getContext('2d', { willReadFrequently: true })
    function readNumber() {
      context.drawImage(video, 0, 0, 12, 6)
      const { data } = context.getImageData(0, 1, 12, 1)
      return Array.from({ length: 12 }, (_, x) => (data[4 * x] > 128 ? 2 ** x : 0)).reduce((a, b) => a + b)
    }
    /** A busy browser may show a frame a little after it reports it. A lost frame never comes. */
    async function showFrame(frame) {
      const isFound = new Promise((resolve) => video.addEventListener('seeked', resolve, { once: true }))
      video.currentTime = (frame + 0.5) / ${rate}
      await isFound
      for (let i = 0; i < 100 && readNumber() !== frame; i++)
        await new Promise((resolve) => setTimeout(resolve, 20))
      return { number: readNumber(), height: video.videoHeight }
    }

    /** The level of the sound that is heard, by the position of the video. */
    function listen() {
      const audio = new AudioContext()
      const analyser = new AnalyserNode(audio, { fftSize: 512 })
      audio.createMediaElementSource(video).connect(analyser)
      const samples = new Float32Array(analyser.fftSize)
      const heard = []
      setInterval(() => {
        if (video.paused || audio.state !== 'running') return
        analyser.getFloatTimeDomainData(samples)
        heard.push([video.currentTime, Math.hypot(...samples) / Math.sqrt(samples.length)])
      }, 10)
      return heard
    }
    ${players[name].start}`

const closers: (() => unknown)[] = []
let browser: Browser | undefined
let pages: Pages | undefined
let url: string
/** The first frame of each segment. */
let starts: number[]

before(async () => {
  if (skip) return
  const folder = await temporaryFolder({ after })
  const service = await kinora({ after: (end) => closers.push(end) }, withoutThumbnails())
  browser = await launchBrowser(['--autoplay-policy=no-user-gesture-required'])
  pages = await servePlayers((name) => ({
    attributes: 'crossorigin="anonymous" playsinline preload="auto"',
    url,
    script: scriptOf(name),
  }))
  const source = join(folder, 'copied.mp4')
  const x264 = '-c:v libx264 -preset ultrafast -x264-params bframes=3:b-adapt=0:scenecut=0:keyint=20'
  await ffmpeg(
    ...videoWithTone({ size: '640x360', rate: String(rate), seconds }),
    ...splitArgs(`${x264} -pix_fmt yuv420p -c:a aac -ac 2 -b:a 96k`),
    source,
  )
  const videoId = await uploadVideo(service, source, { mp4Support: false })
  await assertEncoded(service, videoId, ['hls 240p', 'hls 360p'])
  const [{ plan }] = await query(service.database, 'select plan from encodings where video_id = $1', [
    videoId,
  ])
  assert.deepEqual([plan.copiesVideo, plan.copiesAudio], [true, true])
  url = `${service.url}/vod/${videoId}/hls/manifest.m3u8`
  const durations = durationsIn((await media(service.url, videoId, 'hls/360p/manifest.m3u8')).text)
  starts = durations.map((_, i) => Math.round(rate * durations.slice(0, i).reduce((a, b) => a + b, 0)))
  assert.ok(starts.length >= 6, starts.join())
})
after(async () => {
  await browser?.close()
  pages?.close()
  for (const close of closers) await close()
})

async function open(t: TestContext, name: string): Promise<Page> {
  const context = await browser!.newContext()
  t.after(() => context.close())
  const page = await context.newPage()
  await page.goto(`${pages!.url}?${new URLSearchParams({ player: name })}`)
  return page
}

/** Waits until an expression is true in the page, or its player reports an error. */
async function until(page: Page, condition: string): Promise<void> {
  const state = `JSON.stringify({ errors, time: video.currentTime, ready: video.readyState, ranges: rangesOf(video) })`
  await page
    .waitForFunction(`errors.length > 0 || ${condition}`, undefined, { polling: 50 })
    .catch(async (error) => {
      throw new Error(`${condition}: ${error.message} ${await page.evaluate(state)}`)
    })
  assert.deepEqual(await page.evaluate('errors'), [])
}

/**
 * Plays the last seconds, across a switch: the tone in the middle of each second must be heard when the video is there. If
 * the browser got too little CPU time, it plays them again.
 */
async function assertInSync(page: Page): Promise<void> {
  await page.evaluate('window.heard = listen()')
  for (let tries = 1; ; tries++) {
    await page.evaluate(
      `heard.length = 0; video.currentTime = ${starts.at(-1)! / rate - 1}; video.playbackRate = 1; video.play().catch(() => {})`,
    )
    await until(page, 'video.ended')
    const heard = await page.evaluate<[time: number, level: number][]>('heard')
    const wrong = heard.filter(([time, level]) => {
      const distance = Math.abs((time % 1) - 0.5)
      // The tone lasts 0.2 s in both directions. A level at its edge says nothing.
      return (distance < 0.15 && level < 0.03) || (distance > 0.25 && level > 0.01)
    })
    if (heard.length > 50 && wrong.length < heard.length / 20) return
    assert.ok(tries < 5, `${wrong.length} of ${heard.length}: ${JSON.stringify(wrong.slice(0, 20))}`)
  }
}

describe('a copied quality', { skip, timeout: timeoutMs }, () => {
  for (const name of playerNames) {
    test(`${name} switches to it and from it without losing a frame, in sync with the audio`, async (t) => {
      const page = await open(t, name)
      await until(page, 'isBuffered()')
      // Otherwise it would go on from the frames that are looked at.
      await page.evaluate('video.pause()')
      // Everything is in one piece.
      const ranges = await page.evaluate<Record<string, [number, number][]>>(
        'Object.fromEntries([...buffers].map(([type, buffer]) => [type, rangesOf(buffer)]))',
      )
      for (const type of ['video', 'audio']) {
        const [range, ...others] = ranges[type]!
        assert.deepEqual(others, [], `${type}: ${JSON.stringify(ranges)}`)
        assert.ok(range![0] < 0.03 && Math.abs(range![1] - seconds) < 0.06, `${type}: ${range}`)
      }
      // The frames on both sides of each switch, the first and the last ones.
      const near = [2, ...starts.slice(1), frames - 2].flatMap((start) =>
        [-2, -1, 0, 1].map((i) => start + i),
      )
      const shown: { number: number; height: number }[] = []
      for (const frame of near) shown.push(await page.evaluate(`showFrame(${frame})`))
      assert.deepEqual(
        shown.map(({ number }) => number),
        near,
      )
      const heights = starts.map((start) => shown[near.indexOf(start + 1)]!.height)
      const switches = heights.filter((height, i) => i > 0 && height !== heights[i - 1])
      assert.ok(switches.length >= players[name].minSwitches, heights.join())
      await assertInSync(page)
    })
  }
})
