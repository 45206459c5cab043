import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Browser, Page, Response } from 'playwright-core'
import { launchBrowser, type Pages, servePages, skip } from './browser.ts'
import { type GatedFfmpeg, gatedFfmpeg } from './gated-ffmpeg.ts'
import { call, kinora, patienceMs, type Service, temporaryFolder, waitFor } from './harness.ts'
import { assertEncoded, durationsIn, encodingOf, ffmpeg, ffprobe, media, uploadVideo } from './media.ts'

// What viewers see: a real browser, and the published hls.js with its own settings on a page of another origin.

/** 14 s at 30000/1001: segments of 60, 120, 120 and 120 frames. */
const frameSeconds = 1001 / 30_000
const clipFrames = 420
const clipSeconds = clipFrames * frameSeconds
const borders = [60, 180, 300].map((frame) => frame * frameSeconds)

/** What the page notes while it plays; `look` is what the test asks for. */
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
      const { currentTime, videoHeight, buffered } = video
      const atMs = Math.round(performance.now() - openedAt)
      const ahead = buffered.length === 0 ? 0 : buffered.end(buffered.length - 1) - currentTime
      events.push({ type, atMs, currentTime, videoHeight, ahead, ranges: buffered.length })
      if (type === 'error') errors.push({ details: video.error?.message ?? '', fatal: true })
    })
  }

  /** With the settings that it has by itself; a level is that of one quality for all the time. */
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
    // It is refused when the page closes or the source changes meanwhile.
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
      soundBytes: video.webkitAudioDecodedByteCount,
    }
  }

  let shown
  video.requestVideoFrameCallback(function note(_, { mediaTime }) {
    shown = mediaTime
    video.requestVideoFrameCallback(note)
  })

  /** What is on the screen, small: red, green, blue and opacity of each pixel, in Base64. */
  function picture(width, height) {
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
    videoHeight: number
    /** Seconds that are there to be played. */
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
  soundBytes: number
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
  gated = await gatedFfmpeg(folder)
  service = await kinora({ after: (end) => ends.push(end) }, { KINORA_FFMPEG: gated.path })
  await Promise.all([makeSource(sourceOf('clip'), 14), makeSilent(), makeSound()])
  for (const name of names) ids[name] = await uploadVideo(service, sourceOf(name))
  await assertEncoded(service, ids.clip, ['hls 240p', 'hls 360p', 'mp4 360p'])
  await assertEncoded(service, ids.silent, ['hls 240p', 'hls 360p', 'mp4 360p'])
  await assertEncoded(service, ids.sound, ['hls 240p', 'mp4 240p'])
})
after(async () => {
  await browser?.close()
  pages?.close()
  for (const end of ends) await end()
})

const testPicture = (rate: string) => ['-f', 'lavfi', '-i', `testsrc2=s=640x360:r=${rate}`]
const testSound = ['-f', 'lavfi', '-i', 'sine=f=440:r=48000']
const x264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-crf', '18', '-pix_fmt', 'yuv420p']
// What is not told is guessed, and not alike by all programs.
const colours = ['-colorspace', 'smpte170m', '-color_primaries', 'bt709', '-color_trc', 'bt709']

const makeSource = (path: string, seconds: number, rate = '30000/1001') =>
  ffmpeg(...testPicture(rate), ...testSound, '-t', String(seconds), ...x264, ...colours, '-c:a', 'aac', path)
const makeSilent = () => ffmpeg(...testPicture('30000/1001'), '-t', '3', ...x264, sourceOf('silent'))
const makeSound = () => ffmpeg(...testSound, '-t', '3', '-c:a', 'aac', sourceOf('sound'))

const manifestOf = (id: string) => `${service.url}/vod/${id}/hls/manifest.m3u8`

type Player = {
  page: Page
  look(): Promise<Look>
  run(code: string): Promise<void>
  /** Until what is true in the page: `video.ended`. */
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
        .waitForFunction(condition, undefined, { timeout: patienceMs, polling: 20 })
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

/** It waits before the first picture; not after it. */
function stallsIn({ events }: Look): Look['events'] {
  const start = events.findIndex(({ type }) => type === 'playing')
  return events.slice(start).filter(({ type }) => type === 'waiting')
}

/** hls.js reports these also when the browser gets no time to decode what it has. */
const stallErrors = ['bufferStalledError', 'bufferNudgeOnStall']

/**
 * Plays from the start to the end without an error and without a stall. All of it is loaded before, so a stall without
 * data is a gap. On a busy machine the browser also stalls because it gets no time to decode. It then plays again: a
 * fault of the video stalls at the same frame each time.
 */
async function playWell(t: TestContext, id: string): Promise<Look> {
  let places: number[] | undefined
  for (let tries = 1; ; tries++) {
    const player = await openPage(t)
    await player.run(`startHls(${JSON.stringify(manifestOf(id))}); video.pause()`)
    await player.until('isBuffered()')
    await player.run('video.play()')
    const seen = await player.until('video.ended')
    await player.page.close()
    const stallsOf = ({ errors }: Look) => errors.filter(({ details }) => stallErrors.includes(details))
    const errors = seen.errors.filter(({ details, fatal }) => fatal || !stallErrors.includes(details))
    assert.deepEqual(errors, [], JSON.stringify(seen.events))
    assert.ok(near(seen.currentTime, seen.duration, 0.001), `ended at ${seen.currentTime} s`)
    assert.equal(seen.ranges.length, 1, JSON.stringify(seen.ranges))
    const stalls = stallsIn(seen)
    assert.deepEqual(
      // At the end little is ahead, and it is all that there is.
      stalls.filter(({ ahead, currentTime }) => ahead < 0.5 && currentTime + ahead < seen.duration - 0.1),
      [],
      'nothing was there to be played',
    )
    const now = [...stalls, ...stallsOf(seen)].map(({ currentTime }) => currentTime)
    places = (places ?? now).filter((place) => now.some((other) => near(place, other, 2 * frameSeconds)))
    const start = seen.events.find(({ type }) => type === 'playing')
    t.diagnostic(
      `plays after ${start?.atMs} ms, stalls: ${now.length}, frames: ${JSON.stringify(seen.frames)}`,
    )
    if (places.length === 0) return seen
    assert.ok(tries < 6, `stalls each time at ${places.join(' s, ')} s`)
  }
}

const near = (a: number, b: number, tolerance: number) => Math.abs(a - b) <= tolerance

const thumb = { width: 160, height: 90, bytes: 160 * 90 * 4 }

/** Small pictures of all frames of the source, one after the other. */
async function thumbsOf(source: string): Promise<Buffer> {
  const path = `${source}.rgb`
  const scale = `scale=${thumb.width}:${thumb.height}:flags=area`
  const output = ['-fps_mode', 'passthrough', '-f', 'rawvideo', '-pix_fmt', 'rgba', path]
  await ffmpeg('-i', source, '-vf', scale, ...output)
  return readFile(path)
}

/** Which frame of the source is most like what is on the screen, and how far from it that is on average, of 255. */
async function recognize({ page }: Player, thumbs: Buffer): Promise<{ frame: number; difference: number }> {
  const picture = (await page.evaluate(`picture(${thumb.width}, ${thumb.height})`)) as string
  const got = Buffer.from(picture, 'base64')
  assert.equal(got.length, thumb.bytes)
  const found = { frame: -1, sum: Number.POSITIVE_INFINITY }
  for (let frame = 0; frame < thumbs.length / thumb.bytes; frame++) {
    const start = frame * thumb.bytes
    let sum = 0
    for (let i = 0; i < got.length && sum < found.sum; i++) sum += Math.abs(got[i]! - thumbs[start + i]!)
    if (sum < found.sum) Object.assign(found, { frame, sum })
  }
  // Opacity is the same everywhere.
  return { frame: found.frame, difference: found.sum / (thumb.width * thumb.height * 3) }
}

describe('hls.js in a browser', { skip }, () => {
  test('plays a video to its end without a stall, with sound, for exactly as long as the source', async (t) => {
    const lasts = await ffprobe(sourceOf('clip'), '-select_streams', 'v', '-show_entries', 'stream=duration')
    assert.ok(near(Number(lasts), clipSeconds, 0.001), `${lasts}`)
    const seen = await playWell(t, ids.clip)
    assert.ok(near(seen.duration, clipSeconds, frameSeconds), `lasts ${seen.duration} s`)
    assert.deepEqual(seen.levels, [240, 360])
    assert.ok(seen.soundBytes > 0, 'no sound')
    assert.ok(seen.frames.shown > clipFrames * 0.95, JSON.stringify(seen.frames))
  })

  test('plays what is encoded while the rest is being encoded, from 0 to the end', async (t) => {
    await makeSource(sourceOf('growing'), 18, '25')
    t.after(gated.encodeAll)
    await gated.encodeUntil(1)
    const id = await uploadVideo(service, sourceOf('growing'))
    await waitFor(async () => (await media(service.url, id, 'hls/manifest.m3u8')).status === 200)
    const player = await play(t, id)
    await player.until('events.at(-1)?.type === "waiting" && video.currentTime > 1.5')
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
    // A viewer who comes now could begin at 2 s, three segments before the end of the playlist. A busy browser reports
    // that it plays a moment after it began.
    const other = await play(t, id)
    const second = await other.until('events.some(({ type }) => type === "playing")')
    const started = second.events.find(({ type }) => type === 'playing')!
    assert.ok(started.currentTime < 1.9, JSON.stringify(second.events))
    assert.deepEqual((await other.until('video.currentTime > 1')).errors, [])
    await other.page.close()

    await player.until('events.at(-1)?.type === "waiting" && video.currentTime > 13')
    await gated.encodeAll()
    const seen = await player.until('video.ended')
    const first = seen.events.find(({ type }) => type === 'playing')!
    assert.ok(first.currentTime < 1.9, JSON.stringify(first))
    assert.ok(near(seen.currentTime, 18, 1 / 25), `ended at ${seen.currentTime} s`)
    // It may say that it has nothing to play, and nothing else.
    assert.deepEqual(
      seen.errors.filter(({ details, fatal }) => fatal || details !== 'bufferStalledError'),
      [],
    )
    // Only where there was no more at the time; with more at hand, the browser itself was too slow.
    const places = stallsIn(seen).filter(({ ahead }) => ahead < 0.5)
    assert.ok(
      // At the end of what the player knows of: it reads the list anew only every few seconds.
      places.every(({ currentTime }) => near(currentTime % 4, 2, 0.5)),
      JSON.stringify(seen.events),
    )
    assert.equal(seen.ranges.length, 1, JSON.stringify(seen.ranges))
    await assertEncoded(service, id, ['hls 240p', 'hls 360p', 'mp4 360p'])
  })

  test('changes the quality in the middle of it, and leaves no gap', async (t) => {
    const player = await openPage(t)
    await player.run(`startHls(${JSON.stringify(manifestOf(ids.clip))}, 0)`)
    await player.until('events.some(({ type }) => type === "playing") && video.videoHeight === 240')
    // Paused while the new quality is loaded: on a busy machine the video could end before that.
    const steps = [
      ['currentLevel', 1, 360],
      ['currentLevel', 0, 240],
      ['nextLevel', 1, 360],
    ] as const
    for (const [property, level, height] of steps) {
      await player.run(`video.pause(); appendedLevel = undefined; hls.${property} = ${level}`)
      await player.until(`appendedLevel === ${level}`)
      await player.run('video.playbackRate = 2; video.play()')
      await player.until(`video.videoHeight === ${height}`)
    }
    const seen = await player.until('video.ended')
    // hls.js aborts the requests of the quality that it leaves, and may have to wait for the first of the other one.
    assert.deepEqual(
      seen.errors.filter(
        ({ details, fatal }) => fatal || (details !== 'aborted' && !stallErrors.includes(details)),
      ),
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

  test('goes to any position, and plays on from there', async (t) => {
    const player = await play(t, ids.clip)
    await player.until('video.currentTime > 0.3')
    const positions = [
      ...borders.toReversed(),
      ...borders.map((border) => border - 0.001),
      ...[clipSeconds - 1, 0, 7.5, 0.5],
    ]
    for (const position of positions) {
      await player.run(`events.length = 0; video.currentTime = ${position}`)
      const seen = await player.until(
        `!video.seeking && video.currentTime > ${position + 0.25} && events.some(({ type }) => type === 'seeked')`,
      )
      assert.deepEqual(seen.errors, [], `at ${position} s`)
      const { currentTime } = seen.events.find(({ type }) => type === 'seeked')!
      assert.ok(near(currentTime, position, 0.2), `${currentTime} s instead of ${position} s`)
    }
    for (let n = 0; n < 2; n++) {
      await player.run(`video.currentTime = ${clipSeconds - 0.2}; video.play()`)
      await player.until('video.ended')
      await player.run('video.currentTime = 0; video.play()')
      await player.until('!video.ended && video.currentTime > 0.3 && video.currentTime < 10')
    }
    assert.deepEqual((await player.look()).errors, [])
  })

  test('shows the picture of the source, frame by frame, in each quality', async (t) => {
    const thumbs = await thumbsOf(sourceOf('clip'))
    assert.equal(thumbs.length, clipFrames * thumb.bytes)
    for (const [level, height] of [240, 360].entries()) {
      const player = await play(t, ids.clip, level)
      // One that has not begun yet would begin all the same.
      await player.until('events.some(({ type }) => type === "playing")')
      await player.run('video.pause()')
      for (const frame of [0, 59, 60, 61, 179, 180, 250, 299, 300, 419, 100]) {
        const time = frame * frameSeconds
        await player.run(`video.currentTime = ${time + frameSeconds / 2}`)
        const { videoHeight } = await player.until(`!video.seeking && Math.abs(shown - ${time}) < 0.001`)
        assert.equal(videoHeight, height)
        let found = await recognize(player, thumbs)
        // What is on the screen may be a moment behind what the browser says.
        await waitFor(
          async () => {
            found = await recognize(player, thumbs)
            return found.frame === frame
          },
          () => `${height}p, frame ${frame}: ${JSON.stringify(found)}`,
        )
        assert.ok(found.difference < 8, `${height}p: ${JSON.stringify(found)}`)
      }
      assert.deepEqual((await player.look()).errors, [])
      await player.page.close()
    }
  })

  test('plays a video without sound', async (t) => {
    const seen = await playWell(t, ids.silent)
    assert.ok(near(seen.duration, 90 * frameSeconds, frameSeconds), `lasts ${seen.duration} s`)
    assert.equal(seen.soundBytes, 0)
    assert.ok(seen.frames.shown > 80, JSON.stringify(seen.frames))
  })

  test('plays sound that has no picture', async (t) => {
    const seen = await playWell(t, ids.sound)
    assert.ok(near(seen.duration, 3, 0.1), `lasts ${seen.duration} s`)
    assert.ok(seen.soundBytes > 0, 'no sound')
  })
})

describe('the MP4 in a browser', { skip }, () => {
  test('plays from the start and from any position, without being loaded whole', async (t) => {
    const player = await openPage(t)
    const answers: Response[] = []
    player.page.on('response', (response) => answers.push(response))
    const session = await player.page.context().newCDPSession(player.page)
    const url = `${service.url}/vod/${ids.clip}/mp4/source.mp4`
    const { headers } = await call(url, { method: 'HEAD', key: '' })
    const size = Number(headers.get('content-length'))
    // About as quick as it is played, so that what is sought is not there yet.
    const throughput = size / 10
    await session.send('Network.emulateNetworkConditions', {
      ...{ offline: false, latency: 0, downloadThroughput: throughput, uploadThroughput: -1 },
    })
    await player.run(`startFile(${JSON.stringify(url)})`)
    const begun = await player.until('video.currentTime > 0.5')
    assert.ok(near(begun.duration, clipSeconds, frameSeconds), `lasts ${begun.duration} s`)
    assert.equal(begun.videoHeight, 360)
    await player.run('video.currentTime = 12')
    await player.until('!video.seeking && video.currentTime > 12.3')
    await player.run('video.currentTime = 1')
    await player.until('!video.seeking && video.currentTime > 1.3 && video.currentTime < 5')
    await session.detach()
    await player.run(`video.currentTime = ${clipSeconds - 0.5}`)
    const seen = await player.until('video.ended')
    assert.deepEqual(seen.errors, [])
    assert.ok(seen.soundBytes > 0)
    assert.ok(answers.every((answer) => answer.status() === 206))
    const starts = answers.map((answer) =>
      Number(/^bytes (\d+)-/.exec(answer.headers()['content-range'] ?? '')?.[1]),
    )
    assert.equal(starts[0], 0)
    assert.ok(starts[1]! > size / 2, `${starts}`)
  })
})

test('the service meets no error in all of this', { skip }, () => {
  assert.doesNotMatch(service.output(), /request failed|"level":"(error|fatal)"/)
})
