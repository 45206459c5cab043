import { execFile } from 'node:child_process'
import { openAsBlob } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Browser } from 'playwright-core'
import { launchBrowser } from '../test/browser.ts'
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

/** Opens a page with an empty cache and returns the time to the first frame. */
async function firstFrameMs(browser: Browser, url: string): Promise<number> {
  const context = await browser.newContext()
  try {
    await context.addInitScript({ content: recordFirstFrame })
    const page = await context.newPage()
    await page.goto(url)
    for (let tries = 0; tries < 1_500; tries++) {
      const ms = await page.evaluate<number | undefined>('window.firstFrameMs')
      if (ms !== undefined) return ms
      await delay(20)
    }
    throw new Error(`${url} showed no frame`)
  } finally {
    await context.close()
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

/** The reference: a page with only a video element and hls.js. */
async function serveBarePage(hls: string) {
  const script = await readFile(fileURLToPath(import.meta.resolve('hls.js/dist/hls.min.js')))
  const page = `<!doctype html><title>Bare</title><video muted autoplay playsinline></video>
    <script src="/hls.js"></script><script>
      const hls = new Hls()
      hls.loadSource(${JSON.stringify(hls)})
      hls.attachMedia(document.querySelector('video'))
    </script>`
  const server = createServer((request, response) => {
    const isScript = request.url === '/hls.js'
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
    response.end(isScript ? script : page)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
}

async function generateClip(path: string): Promise<void> {
  const source = ['-f', 'lavfi', '-i', 'testsrc2=s=1280x720:r=30:d=14', '-f', 'lavfi', '-i', 'sine=d=14']
  await promisify(execFile)('ffmpeg', ['-v', 'error', ...source, '-preset', 'ultrafast', path])
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

/** Time to the first frame of the player page, compared with a bare page, and with 50 captions. */
export async function firstFrame(): Promise<void> {
  const browser = await launchBrowser(['--autoplay-policy=no-user-gesture-required'])
  if (!browser) return console.log('TEST_CHROMIUM=none: time to first frame is not measured')
  await withTemporaryFolder(async (folder) => {
    await using resources = new Resources()
    resources.add(() => browser.close())
    const clip = join(folder, 'clip.mp4')
    await generateClip(clip)
    const { url } = await resources.server(startKinora(join(folder, 'data')))
    const media = `${url}/vod/${await uploadVideo(url, clip)}`
    const captioned = await uploadVideo(url, clip)
    await addCaptions(url, captioned)
    const bare = await serveBarePage(`${media}/hls/manifest.m3u8`)
    resources.add(() => bare.server.close())
    const pages = {
      plain: `${media}?autoplay=true&muted=true`,
      bare: bare.url,
      captioned: `${url}/vod/${captioned}?autoplay=true&muted=true`,
    }
    const times = await measure(browser, pages)
    const ms = (name: keyof typeof pages) => `${Math.round(times[name])} ms`
    const row = (
      measured: string,
      kinora: keyof typeof pages,
      reference: keyof typeof pages,
      goal: number,
    ) => {
      const ratio = times[kinora] / times[reference]
      return { measured, kinora: ms(kinora), reference: ms(reference), ratio, goal: atMost(goal, ratio) }
    }
    printTable('Player page: time to the first frame', [
      row('compared with a bare page with hls.js', 'plain', 'bare', 1.3),
      row('with 50 captions of 2,000 cues, compared with none', 'captioned', 'plain', 1.1),
    ])
  })
}

/** The median time to the first frame of each page, measured in turns. */
async function measure<N extends string>(
  browser: Browser,
  pages: Record<N, string>,
): Promise<Record<N, number>> {
  const names = Object.keys(pages) as N[]
  const times = new Map<N, number[]>(names.map((name) => [name, []]))
  for (let round = 0; round <= rounds; round++)
    for (const name of names) {
      const ms = await firstFrameMs(browser, pages[name])
      // The first round is a warm-up.
      if (round > 0) times.get(name)?.push(ms)
    }
  return Object.fromEntries(names.map((name) => [name, median(times.get(name) ?? [])])) as Record<N, number>
}
