import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Browser, Page, Response } from 'playwright-core'
import { launchBrowser, type Pages, servePages, skip } from '../support/browser/browser.ts'
import {
  assertNoErrorsLogged,
  call,
  kinora,
  type Service,
  temporaryFolder,
  timeoutMs,
  waitFor,
} from '../support/harness.ts'
import { type GatedFfmpeg, gatedFfmpeg } from '../support/media/gated-ffmpeg.ts'
import { durationsIn, ffmpeg, ffprobe } from '../support/media/media.ts'
import { withoutThumbnails } from '../support/programs.ts'
import { assertEncoded, encodingOf, media, uploadVideo } from '../support/videos.ts'

// Playback in a real browser with the published hls.js and its default settings, on a page of another origin.

/** 14 s at 30000/1001 fps: segments of 60, 120, 120 and 120 frames. */
const frameSeconds = 1001 / 30_000
const clipFrames = 420
const clipSeconds = clipFrames * frameSeconds
const segmentStarts = [30, 60, 120, 180, 240, 300].map((frame) => frame * frameSeconds)

/** The page records its events while it plays. The test reads them with `look`. */
const script = `
  const video = document.querySelector('video')
  const events = []
  const errors = []
  const openedAt = performance.now()
  let hls
  /** The quality of the last segment that hls.js appended. */
  let appendedLevel
  for (const type of ['playing', 'waiting', 'seeked', 'ended', 'resize', 'error']) {
    video.addEventListener(type, () => {
      const { currentTime, videoHeight, buffered, played } = video
      const atMs = Math.round(performance.now() - openedAt)
      const ahead = buffered.length === 0 ? 0 : buffered.end(buffered.length - 1) - currentTime
      const playedFrom = played.length === 0 ? currentTime : played.start(0)
      events.push({ type, atMs, currentTime, playedFrom, videoHeight, ahead, ranges: buffered.length })
      if (type === 'error') errors.push({ details: video.error?.message ?? '', fatal: true })
    })
  }

  /** Plays with the default settings of hls.js. A level limits it to one quality. */
  function startHls(url, level) {
    hls = new Hls()
    if (level !== undefined) hls.on(Hls.Events.MANIFEST_PARSED, () => { hls.loadLevel = level })
    hls.on(Hls.Events.ERROR, (_, { details, fatal, error }) =>
      errors.push({ details, fatal, reason: error?.message, currentTime: video.currentTime }))
    hls.on(Hls.Events.FRAG_BUFFERED, (_, { frag }) => {
      if (frag.type === 'main' && frag.sn !== 'initSegment') appendedLevel = frag.level
    })
    hls.loadSource(url)
    hls.attachMedia(video)
    // The promise is rejected if the page closes or the source changes.
    video.play().catch(() => {})
  }

  const isBuffered = () => video.buffered.length > 0 && video.buffered.end(0) > video.duration - 0.1

  function startFile(url) {
    video.src = url
    video.play().catch(() => {})
  }

  function look() {
    const { currentTime, duration, videoHeight, ended, buffered } = video
    const frames = video.getVideoPlaybackQuality()
    return {
      events, errors, currentTime, duration, videoHeight, ended,
      levels: hls?.levels.map(({ height }) => height) ?? [],
      ranges: Array.from({ length: buffered.length }, (_, i) => [buffered.start(i), buffered.end(i)]),
      frames: { shown: frames.totalVideoFrames, dropped: frames.droppedVideoFrames },
      audioBytes: video.webkitAudioDecodedByteCount,
    }
  }

  let shown
  video.requestVideoFrameCallback(function record(_, { mediaTime }) {
    shown = mediaTime
    video.requestVideoFrameCallback(record)
  })

  /** The frame on the screen, scaled down: RGBA bytes in Base64. */
  function grabFrame(width, height) {
    const canvas = Object.assign(document.createElement('canvas'), { width, height })
    const context = canvas.getContext('2d')
    context.imageSmoothingQuality = 'high'
    context.drawImage(video, 0, 0, width, height)
    const bytes = context.getImageData(0, 0, width, height).data
    return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
  }`

type Look = {
  events: {
    type: string
    atMs: number
    currentTime: number
    /** Where playback began. A busy browser reports events late. */
    playedFrom: number
    videoHeight: number
    /** Buffered seconds after the current time. */
    ahead: number
    ranges: number
  }[]
  errors: { details: string; fatal: boolean; reason?: string; currentTime: number }[]
  currentTime: number
  duration: number
  videoHeight: number
  ended: boolean
  levels: number[]
  ranges: [from: number, to: number][]
  frames: { shown: number; dropped: number }
  audioBytes: number
}

let folder: string
let gated: GatedFfmpeg
let service: Service
let pages: Pages
let browser: Browser | undefined
const ends: (() => unknown)[] = []

const names = ['clip', 'silent', 'sound'] as const
const ids = {} as Record<(typeof names)[number], string>
const sourceOf = (name: string) => join(folder, `${name}.mp4`)

before(async () => {
  if (skip) return
  folder = await temporaryFolder({ after })
  const library = readFileSync(fileURLToPath(import.meta.resolve('hls.js/dist/hls.min.js')))
  const body = `<body style="margin:0"><video crossorigin="anonymous" style="width:100%"></video></body>`
  const page = `<!doctype html><script src="/hls.js"></script>${body}<script>${script}</script>`
  pages = await servePages(({ url }, response) => {
    const [type, content] = url === '/hls.js' ? ['text/javascript', library] : ['text/html', page]
    response.setHeader('content-type', type).end(content)
  })
  browser = await launchBrowser(['--autoplay-policy=no-user-gesture-required'])
  gated = await gatedFfmpeg(folder, withoutThumbnails().KINORA_FFMPEG)
  service = await kinora({ after: (end) => ends.push(end) }, { KINORA_FFMPEG: gated.path })
  await Promise.all([makeSource(sourceOf('clip'), 14), makeSilent(), makeAudioOnly()])
  for (const name of names) ids[name] = await uploadVideo(service, sourceOf(name))
  await assertEncoded(service, ids.clip, ['hls 240p', 'hls 360p', 'mp4 360p'])
  await assertEncoded(service, ids.silent, ['hls 240p', 'hls 360p', 'mp4 360p'])
  await assertEncoded(service, ids.sound, ['hls 240p', 'mp4 240p'])
})
after(async () => {
  await browser?.close()
  pages?.close()
  for (const end of ends) await end()
  if (service) assertNoErrorsLogged(service)
})

const testVideo = (rate: string) => ['-f', 'lavfi', '-i', `testsrc2=s=640x360:r=${rate}`]
const testAudio = ['-f', 'lavfi', '-i', 'sine=f=440:r=48000']
const x264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-crf', '18', '-pix_fmt', 'yuv420p']
// Programs guess missing color tags, and not all in the same way.
const colors = ['-colorspace', 'smpte170m', '-color_primaries', 'bt709', '-color_trc', 'bt709']

const makeSource = (path: string, seconds: number, rate = '30000/1001') =>
  ffmpeg(...testVideo(rate), ...testAudio, '-t', String(seconds), ...x264, ...colors, '-c:a', 'alac', path)
const makeSilent = () => ffmpeg(...testVideo('30000/1001'), '-t', '3', ...x264, sourceOf('silent'))
const makeAudioOnly = () => ffmpeg(...testAudio, '-t', '3', '-c:a', 'aac', sourceOf('sound'))

const manifestOf = (id: string) => `${service.url}/vod/${id}/hls/manifest.m3u8`

type Player = {
  page: Page
  look(): Promise<Look>
  run(code: string): Promise<void>
  /** Waits until an expression is true in the page: `video.ended`. */
  until(condition: string): Promise<Look>
}

async function openPage(t: TestContext): Promise<Player> {
  const page = await browser!.newPage({ viewport: { width: 640, height: 360 } })
  t.after(() => page.close())
  await page.goto(pages.url)
  const look = () => page.evaluate('look()') as Promise<Look>
  return {
    page,
    look,
    async run(code) {
      await page.evaluate(`{ ${code} }`)
    },
    async until(condition) {
      await page
        .waitForFunction(condition, undefined, { timeout: timeoutMs, polling: 20 })
        .catch(async (error) => {
          throw new Error(`${condition}: ${error.message}\n${JSON.stringify(await look())}`)
        })
      return look()
    },
  }
}

async function play(t: TestContext, id: string, level?: number): Promise<Player> {
  const player = await openPage(t)
  await player.run(`startHls(${JSON.stringify(manifestOf(id))}, ${level})`)
  return player
}

/** Returns the `waiting` events after the first frame. */
function stallsIn({ events }: Look): Look['events'] {
  const start = events.findIndex(({ type }) => type === 'playing')
  return events.slice(start).filter(({ type }) => type === 'waiting')
}

/** hls.js also reports these if the browser gets too little CPU time to decode buffered data. */
const stallErrors = ['bufferStalledError', 'bufferNudgeOnStall']
const faultsIn = ({ errors }: Look) =>
  errors.filter(({ details, fatal }) => fatal || !stallErrors.includes(details))

/**
 * Plays the video from start to end without errors and stalls. The video is fully buffered first, so a stall without
 * data is a gap. On a busy machine, the browser also stalls because it gets too little CPU time. Then the video is played
 * again: a fault of the video stalls at the same frame each time.
 */
async function playToEnd(t: TestContext, id: string): Promise<Look> {
  let stallTimes: number[] | undefined
  for (let tries = 1; ; tries++) {
    const player = await openPage(t)
    await player.run(`startHls(${JSON.stringify(manifestOf(id))}); video.pause()`)
    await player.until('isBuffered()')
    await player.run('video.play()')
    const seen = await player.until('video.ended')
    await player.page.close()
    const stallsOf = ({ errors }: Look) => errors.filter(({ details }) => stallErrors.includes(details))
    assert.deepEqual(faultsIn(seen), [], JSON.stringify(seen.events))
    assert.ok(near(seen.currentTime, seen.duration, 0.001), `ended at ${seen.currentTime} s`)
    assert.equal(seen.ranges.length, 1, JSON.stringify(seen.ranges))
    const stalls = stallsIn(seen)
    assert.deepEqual(
      // Near the end, all that is left is buffered.
      stalls.filter(({ ahead, currentTime }) => ahead < 0.5 && currentTime + ahead < seen.duration - 0.1),
      [],
      'playback stalled without buffered data',
    )
    const now = [...stalls, ...stallsOf(seen)].map(({ currentTime }) => currentTime)
    stallTimes = (stallTimes ?? now).filter((time) =>
      now.some((other) => near(time, other, 2 * frameSeconds)),
    )
    const start = seen.events.find(({ type }) => type === 'playing')
    t.diagnostic(
      `plays after ${start?.atMs} ms, stalls: ${now.length}, frames: ${JSON.stringify(seen.frames)}`,
    )
    if (stallTimes.length === 0) return seen
    assert.ok(tries < 6, `stalls each time at ${stallTimes.join(' s, ')} s`)
  }
}

const near = (a: number, b: number, tolerance: number) => Math.abs(a - b) <= tolerance

const thumb = { width: 160, height: 90, bytes: 160 * 90 * 4 }

/** Returns all frames of the source, scaled down, as one buffer. */
async function thumbsOf(source: string): Promise<Buffer> {
  const path = `${source}.rgb`
  const scale = `scale=${thumb.width}:${thumb.height}:flags=area`
  const output = ['-fps_mode', 'passthrough', '-f', 'rawvideo', '-pix_fmt', 'rgba', path]
  await ffmpeg('-i', source, '-vf', scale, ...output)
  return readFile(path)
}

/** Finds the source frame that is most similar to the screen, and their average difference on a scale of 255. */
async function recognize({ page }: Player, thumbs: Buffer): Promise<{ frame: number; difference: number }> {
  const frameBytes = (await page.evaluate(`grabFrame(${thumb.width}, ${thumb.height})`)) as string
  const got = Buffer.from(frameBytes, 'base64')
  assert.equal(got.length, thumb.bytes)
  const found = { frame: -1, sum: Number.POSITIVE_INFINITY }
  for (let frame = 0; frame < thumbs.length / thumb.bytes; frame++) {
    const start = frame * thumb.bytes
    let sum = 0
    for (let i = 0; i < got.length && sum < found.sum; i++) sum += Math.abs(got[i]! - thumbs[start + i]!)
    if (sum < found.sum) Object.assign(found, { frame, sum })
  }
  // The alpha channel is always equal.
  return { frame: found.frame, difference: found.sum / (thumb.width * thumb.height * 3) }
}

describe('hls.js in a browser', { skip }, () => {
  test('plays a video with audio to its end without a stall, with the duration of the source', async (t) => {
    const duration = await ffprobe(
      sourceOf('clip'),
      '-select_streams',
      'v',
      '-show_entries',
      'stream=duration',
    )
    assert.ok(near(Number(duration), clipSeconds, 0.001), `${duration}`)
    const seen = await playToEnd(t, ids.clip)
    assert.ok(near(seen.duration, clipSeconds, frameSeconds), `lasts ${seen.duration} s`)
    assert.deepEqual(seen.levels, [240, 360])
    assert.ok(seen.audioBytes > 0, 'no audio was decoded')
    assert.ok(seen.frames.shown > clipFrames * 0.95, JSON.stringify(seen.frames))
  })

  test('plays a video from start to end while it is being encoded', async (t) => {
    await makeSource(sourceOf('growing'), 18, '10')
    t.after(gated.encodeAll)
    await gated.encodeUntil(1)
    const id = await uploadVideo(service, sourceOf('growing'))
    await waitFor(async () => (await media(service.url, id, 'hls/manifest.m3u8')).status === 200)
    const player = await play(t, id)
    await player.until('events.at(-1)?.type === "waiting" && video.currentTime > 0.5')
    const { playable, qualities } = await encodingOf(service, id)
    assert.equal(playable, true)
    assert.ok(qualities.every(({ status }) => status !== 'encoded'))

    await gated.encodeUntil(14)
    await waitFor(async () => {
      const lists = await Promise.all(
        ['240p', 'sound'].map((name) => media(service.url, id, `hls/${name}/manifest.m3u8`)),
      )
      return lists.every(({ text }) => durationsIn(text).length >= 4)
    })
    await player.until('video.currentTime > 2.5')
    await player.run('video.playbackRate = 2')
    // A second viewer must not start at 2 s, which is three segments before the end of the playlist.
    const other = await play(t, id)
    const second = await other.until('events.some(({ type }) => type === "playing")')
    const started = second.events.find(({ type }) => type === 'playing')!
    assert.ok(started.playedFrom < 1.9, JSON.stringify(second.events))
    assert.deepEqual(faultsIn(await other.until('video.currentTime > 1')), [])
    await other.page.close()

    await player.until('video.currentTime > 5')
    await gated.encodeAll()
    const seen = await player.until('video.ended')
    const first = seen.events.find(({ type }) => type === 'playing')!
    assert.ok(first.playedFrom < 1.9, JSON.stringify(first))
    assert.ok(near(seen.currentTime, 18, 1 / 25), `ended at ${seen.currentTime} s`)
    // The only accepted errors are stalls: the buffer ran empty.
    assert.deepEqual(faultsIn(seen), [])
    // Stalls with buffered data mean that the browser was too slow.
    const stalls = stallsIn(seen).filter(({ ahead }) => ahead < 0.5)
    assert.ok(
      // Stalls are at the end of the known playlist, which the player reloads every few seconds.
      stalls.every(({ currentTime }) => [1, 2, 4, 6, 8, 10, 14].some((end) => near(currentTime, end, 0.5))),
      JSON.stringify(seen.events),
    )
    assert.equal(seen.ranges.length, 1, JSON.stringify(seen.ranges))
    await assertEncoded(service, id, ['hls 240p', 'hls 360p', 'mp4 360p'])
  })

  /** Undefined if the video ended before the last step: hls.js skips a part if its next segment is late. */
  async function switchQualities(t: TestContext) {
    const player = await openPage(t)
    // Paused between the steps, because on a busy machine the video could end before the last one.
    await player.run(`window.awaited = undefined
      video.addEventListener('playing', () => video.pause(), { once: true })
      video.addEventListener('resize', () => { if (video.videoHeight === awaited) video.pause() })
      startHls(${JSON.stringify(manifestOf(ids.clip))}, 0)`)
    await player.until('events.some(({ type }) => type === "playing") && video.videoHeight === 240')
    const steps = [
      ['currentLevel', 1, 360],
      ['currentLevel', 0, 240],
      ['nextLevel', 1, 360],
    ] as const
    for (const [property, level, height] of steps) {
      await player.run(`appendedLevel = undefined; hls.${property} = ${level}`)
      await player.until(`appendedLevel === ${level}`)
      await player.run(`if (video.videoHeight !== ${height}) {
        awaited = ${height}
        video.playbackRate = 2
        video.play().catch(() => {})
      }`)
      const { events } = await player.until(
        `video.ended || (video.videoHeight === ${height} && video.paused)`,
      )
      if (events.some(({ type }) => type === 'ended')) return undefined
    }
    await player.run('awaited = undefined; video.playbackRate = 2; video.play()')
    return player.until('video.ended')
  }

  test('switches the quality during playback without a gap', async (t) => {
    let seen: Awaited<ReturnType<typeof switchQualities>>
    for (let attempt = 0; !seen; attempt++) {
      assert.ok(attempt < 5, 'the video ended before the last step')
      seen = await switchQualities(t)
    }
    // hls.js aborts the requests of the old quality and may have to wait for the first segment of the new one.
    assert.deepEqual(
      faultsIn(seen).filter(({ details, fatal }) => fatal || details !== 'aborted'),
      [],
    )
    assert.equal(seen.ranges.length, 1, JSON.stringify(seen.ranges))
    const changes = seen.events.filter(({ type }) => type === 'resize')
    assert.deepEqual(
      changes.map(({ videoHeight }) => videoHeight),
      [240, 360, 240, 360],
    )
    assert.ok(
      changes.every(({ ranges }) => ranges <= 1),
      JSON.stringify(changes),
    )
  })

  test('seeks to any position and continues from there', async (t) => {
    const player = await play(t, ids.clip)
    await player.until('video.currentTime > 0.3')
    const positions = [
      ...segmentStarts.toReversed(),
      ...segmentStarts.map((start) => start - 0.001),
      ...[clipSeconds - 1, 0, 7.5, 0.5],
    ]
    // Paused, because on a busy machine the video goes on, or ends, before the page reports the position.
    const seek = async (position: number) => {
      await player.run(`video.pause(); events.length = 0; video.currentTime = ${position}`)
      const seen = await player.until(`!video.seeking && events.some(({ type }) => type === 'seeked')`)
      const { currentTime } = seen.events.find(({ type }) => type === 'seeked')!
      assert.ok(near(currentTime, position, 0.2), `${currentTime} s instead of ${position} s`)
      await player.run('video.play()')
    }
    for (const position of positions) {
      await seek(position)
      const seen = await player.until(`video.currentTime > ${position + 0.25}`)
      assert.deepEqual(faultsIn(seen), [], `at ${position} s`)
    }
    for (let n = 0; n < 2; n++) {
      await player.run(`video.currentTime = ${clipSeconds - 0.2}; video.play()`)
      await player.until('video.ended')
      await seek(0)
      await player.until('video.currentTime > 0.3')
    }
    assert.deepEqual(faultsIn(await player.look()), [])
  })

  test('shows the frames of the source in each quality', async (t) => {
    const thumbs = await thumbsOf(sourceOf('clip'))
    assert.equal(thumbs.length, clipFrames * thumb.bytes)
    for (const [level, height] of [240, 360].entries()) {
      const player = await play(t, ids.clip, level)
      // A pause before the start of playback would have no effect.
      await player.until('events.some(({ type }) => type === "playing")')
      await player.run('video.pause()')
      for (const frame of [0, 59, 60, 61, 179, 180, 250, 299, 300, 419, 100]) {
        const time = frame * frameSeconds
        await player.run(`video.currentTime = ${time + frameSeconds / 2}`)
        const { videoHeight } = await player.until(`!video.seeking && Math.abs(shown - ${time}) < 0.001`)
        assert.equal(videoHeight, height)
        let found = { frame: -1, difference: 255 }
        // The screen may be a moment behind the reported time.
        await waitFor(
          async () => {
            found = await recognize(player, thumbs)
            return found.frame === frame
          },
          () => `${height}p, frame ${frame}: ${JSON.stringify(found)}`,
        )
        assert.ok(found.difference < 8, `${height}p: ${JSON.stringify(found)}`)
      }
      assert.deepEqual(faultsIn(await player.look()), [])
      await player.page.close()
    }
  })

  test('plays a video without audio', async (t) => {
    const seen = await playToEnd(t, ids.silent)
    assert.ok(near(seen.duration, 90 * frameSeconds, frameSeconds), `lasts ${seen.duration} s`)
    assert.equal(seen.audioBytes, 0)
    assert.ok(seen.frames.shown > 80, JSON.stringify(seen.frames))
  })

  test('plays an audio file', async (t) => {
    const seen = await playToEnd(t, ids.sound)
    assert.ok(near(seen.duration, 3, 0.1), `lasts ${seen.duration} s`)
    assert.ok(seen.audioBytes > 0, 'no audio was decoded')
  })
})

describe('the MP4 in a browser', { skip }, () => {
  test('plays from the start and from any position without loading the entire file', async (t) => {
    const player = await openPage(t)
    const responses: Response[] = []
    player.page.on('response', (response) => responses.push(response))
    const session = await player.page.context().newCDPSession(player.page)
    const url = `${service.url}/vod/${ids.clip}/mp4/source.mp4`
    const { headers } = await call(url, { method: 'HEAD', key: '' })
    const size = Number(headers.get('content-length'))
    // About the speed of playback, so that the position of a seek is not loaded yet.
    const throughput = size / 10
    await session.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 0,
      downloadThroughput: throughput,
      uploadThroughput: -1,
    })
    await player.run(`startFile(${JSON.stringify(url)})`)
    const begun = await player.until('video.currentTime > 0.5')
    assert.ok(near(begun.duration, clipSeconds, frameSeconds), `lasts ${begun.duration} s`)
    assert.equal(begun.videoHeight, 360)
    await player.run('video.currentTime = 12; video.play()')
    await player.until('!video.seeking && video.currentTime > 12.3')
    // On a busy machine the video may have ended already.
    await player.run('video.currentTime = 1; video.play()')
    await player.until('!video.seeking && video.currentTime > 1.3')
    await session.detach()
    await player.run(`video.currentTime = ${clipSeconds - 0.5}; video.play()`)
    const seen = await player.until('video.ended')
    assert.deepEqual(seen.errors, [])
    assert.ok(seen.audioBytes > 0)
    assert.ok(responses.every((response) => response.status() === 206))
    const starts = responses.map((response) =>
      Number(/^bytes (\d+)-/.exec(response.headers()['content-range'] ?? '')?.[1]),
    )
    assert.equal(starts[0], 0)
    assert.ok(starts[1]! > size / 2, `${starts}`)
  })
})
