import { execFile } from 'node:child_process'
import { openAsBlob } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { launchBrowser } from '../test/support/browser/browser.ts'
import { serveBarePage } from './bare-page.ts'
import { authorization, createVideo, median, Resources, startKinora, withTemporaryFolder } from './servers.ts'
import { atMost, printTable } from './table.ts'

const rounds = 25

/** Runs in every page: records when the video shows its first frame, in milliseconds since the navigation began. */
const recordFirstFrame = `
  const observer = new MutationObserver(() => {
    const video = document.querySelector('video')
    if (!video) return
    observer.disconnect()
    video.requestVideoFrameCallback((now) => { window.firstFrameMs = now })
  })
  observer.observe(document, { childList: true, subtree: true })
`

/** Opens a page with an empty cache and calls `look` when it has shown its first frame. */
async function atFirstFrame<T>(
  browser: Browser,
  url: string,
  look: (page: Page, firstFrameMs: number) => Promise<T>,
): Promise<T> {
  const context = await browser.newContext()
  try {
    await context.addInitScript({ content: recordFirstFrame })
    const page = await context.newPage()
    await page.goto(url)
    for (let tries = 0; tries < 1_500; tries++) {
      const ms = await page.evaluate<number | undefined>('window.firstFrameMs')
      if (ms !== undefined) return await look(page, ms)
      await delay(20)
    }
    throw new Error(`${url} showed no frame`)
  } finally {
    await context.close()
  }
}

const firstFrameMs = (browser: Browser, url: string) => atFirstFrame(browser, url, async (_, ms) => ms)

const seekSeconds = 200
/** Otherwise the bare page would have loaded the entire video before the benchmark seeks. */
const shortBuffer = { maxBufferLength: 30, maxMaxBufferLength: 30 }

/** Runs after the first frame: seeks to a part that is not loaded and returns the time to its first frame. */
const seek = `new Promise((resolve, reject) => {
  const video = document.querySelector('video')
  const isLoaded = Array.from({ length: video.buffered.length }, (_, i) => video.buffered.end(i)).some(
    (end) => end > ${seekSeconds},
  )
  if (isLoaded) return reject(new Error('the part is loaded already'))
  const from = performance.now()
  const check = (_, { mediaTime }) => {
    if (mediaTime >= ${seekSeconds - 0.1}) resolve(performance.now() - from)
    else video.requestVideoFrameCallback(check)
  }
  video.requestVideoFrameCallback(check)
  video.currentTime = ${seekSeconds}
})`

/** The player loads previews after the first frame, and a viewer does not seek in the same moment. */
const beforeSeekMs = 1_500

const seekMs = (browser: Browser, url: string) =>
  atFirstFrame(browser, url, async (page) => {
    await delay(beforeSeekMs)
    return page.evaluate<number>(seek)
  })

type Load = { requests: number; pageBytes: number; mediaBytes: number }

/** What a page has loaded before its first frame, with the size of the responses as they were sent. */
const load = `(() => {
  const [page] = performance.getEntriesByType('navigation')
  const before = performance.getEntriesByType('resource').filter(({ responseEnd }) => responseEnd < window.firstFrameMs)
  const bytes = (entries) => entries.reduce((sum, { transferSize }) => sum + transferSize, 0)
  const isMedia = ({ name }) => /\\.(m4s|mp4|jpg)/.test(name)
  return {
    requests: 1 + before.length,
    pageBytes: page.transferSize + bytes(before.filter((each) => !isMedia(each))),
    mediaBytes: bytes(before.filter(isMedia)),
  }
})()`

/** The median of several openings. A busy machine shows the first frame later, after more requests. */
async function loadOf(browser: Browser, url: string): Promise<Load> {
  const loads: Load[] = []
  for (let round = 0; round < 5; round++)
    loads.push(await atFirstFrame(browser, url, (page) => page.evaluate<Load>(load)))
  const medianOf = (field: keyof Load) => median(loads.map((each) => each[field]))
  return {
    requests: medianOf('requests'),
    pageBytes: medianOf('pageBytes'),
    mediaBytes: medianOf('mediaBytes'),
  }
}

async function uploadVideo(api: string, path: string): Promise<string> {
  const request = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${api}${path}`, { ...init, headers: { authorization, ...init.headers } })
    return (await response.json()) as { encoding: { qualities: { status: string }[] } }
  }
  const videoId = await createVideo(api, { title: 'Bench' })
  const form = new FormData()
  form.append('file', await openAsBlob(path), 'bench.mp4')
  await request(`/videos/${videoId}/source`, { method: 'POST', body: form })
  for (let tries = 0; tries < 600; tries++) {
    const { qualities } = (await request(`/videos/${videoId}/status`)).encoding
    if (qualities.length > 0 && qualities.every(({ status }) => status === 'encoded')) return videoId
    await delay(500)
  }
  throw new Error('the video was not encoded in five minutes')
}

async function generateClip(path: string, format: string, seconds: number): Promise<void> {
  const sources = [`testsrc2=${format}:d=${seconds}`, `sine=d=${seconds}`].flatMap((each) => [
    ...['-f', 'lavfi', '-i', each],
  ])
  await promisify(execFile)('ffmpeg', ['-v', 'error', ...sources, '-preset', 'ultrafast', path])
}

const languages =
  `af am ar az be bg bn bs ca cs cy da de el en es et eu fa fi fil fr ga gl gu he hi hr hu hy id is it ja
  ka kk km kn ko lo lt lv mk ml mn mr ms nb nl pl`.split(/\s+/)

/** Adds 50 captions of 2,000 cues each. One of them is shown from the start. */
async function addCaptions(api: string, videoId: string): Promise<void> {
  const time = (ms: number) => new Date(ms).toISOString().slice(11, -1)
  const cue = (_: unknown, i: number) =>
    `${time(i * 3000)} --> ${time(i * 3000 + 2900)}\nThis is line ${i} of the film.\n`
  const captions = `WEBVTT\n\n${Array.from({ length: 2000 }, cue).join('\n')}`
  const send = async (language: string, init: RequestInit) => {
    const headers = { authorization, ...init.headers }
    const { ok, status } = await fetch(`${api}/videos/${videoId}/captions/${language}`, { ...init, headers })
    if (!ok) throw new Error(`captions in ${language}: ${status}`)
  }
  for (const language of languages) {
    const body = new FormData()
    body.append('file', new Blob([captions]), 'captions.vtt')
    await send(language, { method: 'POST', body })
  }
  const json = { 'content-type': 'application/json' }
  await send('en', { method: 'PATCH', headers: json, body: JSON.stringify({ default: true }) })
}

/** Time to the first frame of the player page and after a seek, compared with a bare page, and with 50 captions. */
export async function firstFrame(): Promise<void> {
  const browser = await launchBrowser(['--autoplay-policy=no-user-gesture-required'])
  if (!browser) return console.log('TEST_CHROMIUM=none: time to first frame is not measured')
  await withTemporaryFolder(async (folder) => {
    await using resources = new Resources()
    resources.add(() => browser.close())
    const [clip, long] = [join(folder, 'clip.mp4'), join(folder, 'long.mp4')]
    await generateClip(clip, 's=1280x720:r=30', 14)
    await generateClip(long, 's=640x360:r=15', seekSeconds + 40)
    const { url } = await resources.server(startKinora(join(folder, 'data')))
    const serve = async (videoId: string) => {
      const media = `${url}/vod/${videoId}`
      const bare = await serveBarePage(`${media}/hls/manifest.m3u8`, shortBuffer)
      resources.add(() => bare.close())
      return { player: `${media}?autoplay=true&muted=true`, bare: bare.url }
    }
    const short = await serve(await uploadVideo(url, clip))
    const seekable = await serve(await uploadVideo(url, long))
    const captioned = await uploadVideo(url, clip)
    await addCaptions(url, captioned)
    const captions = `${url}/vod/${captioned}?autoplay=true&muted=true`

    const starts = await measure({ ...short, captions }, (page) => firstFrameMs(browser, page))
    const seeks = await measure(seekable, (page) => seekMs(browser, page))
    printTable('Player page: time to a frame', [
      row('first frame, compared with a bare page with hls.js', starts.player, starts.bare, 1.2),
      row('with 50 captions of 2,000 cues, compared with none', starts.captions, starts.player, 1.1),
      row('seek outside the buffer, compared with the bare page', seeks.player, seeks.bare, 1.3),
    ])
    const { requests, pageBytes, mediaBytes } = await loadOf(browser, short.player)
    const kB = (bytes: number) => `${Math.round(bytes / 1000)} kB`
    console.log(
      `  before the first frame: ${requests} requests (goal: 10), ${kB(pageBytes)} without media (goal: 200 kB), ${kB(mediaBytes)} of media`,
    )
  })
}

function row(measured: string, kinora: number, reference: number, goal: number) {
  const ms = (time: number) => `${Math.round(time)} ms`
  const ratio = kinora / reference
  return { measured, kinora: ms(kinora), reference: ms(reference), ratio, goal: atMost(goal, ratio) }
}

/** The median time of each page, measured in turns. */
async function measure<N extends string>(
  pages: Record<N, string>,
  timeOf: (page: string) => Promise<number>,
): Promise<Record<N, number>> {
  const names = Object.keys(pages) as N[]
  const times = new Map<N, number[]>(names.map((name) => [name, []]))
  for (let round = 0; round <= rounds; round++)
    for (const name of names) {
      const ms = await timeOf(pages[name])
      // The first round is a warm-up.
      if (round > 0) times.get(name)?.push(ms)
    }
  return Object.fromEntries(names.map((name) => [name, median(times.get(name) ?? [])])) as Record<N, number>
}
