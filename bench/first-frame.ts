import { execFile } from 'node:child_process'
import { openAsBlob } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Browser } from 'playwright-core'
import { launchBrowser } from '../test/browser.ts'
import { authorization, key, median, startServer, stopServer } from './servers.ts'

const rounds = 11
const goal = 1.3

/** In every page: when its video has shown a frame, in milliseconds from the beginning of the navigation. */
const noteFirstFrame = `
  const observer = new MutationObserver(() => {
    const video = document.querySelector('video')
    if (!video) return
    observer.disconnect()
    video.requestVideoFrameCallback((now) => { window.firstFrameMs = now })
  })
  observer.observe(document, { childList: true, subtree: true })
`

/** Nothing is in the browser's cache, as for a viewer who comes for the first time. */
async function openPage(browser: Browser, url: string): Promise<number> {
  const context = await browser.newContext()
  try {
    await context.addInitScript({ content: noteFirstFrame })
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
  const ask = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${api}${path}`, { ...init, headers: { authorization, ...init.headers } })
    return (await response.json()) as { videoId: string; encoding: { qualities: { status: string }[] } }
  }
  const json = { 'content-type': 'application/json' }
  const { videoId } = await ask('/videos', { method: 'POST', headers: json, body: '{"title":"Bench"}' })
  const form = new FormData()
  form.append('file', await openAsBlob(path), 'bench.mp4')
  await ask(`/videos/${videoId}/source`, { method: 'POST', body: form })
  for (let tries = 0; tries < 600; tries++) {
    const { qualities } = (await ask(`/videos/${videoId}/status`)).encoding
    if (qualities.length > 0 && qualities.every(({ status }) => status === 'encoded')) return videoId
    await delay(500)
  }
  throw new Error('the video was not encoded in five minutes')
}

/** The least that plays the same stream: a video element and hls.js as it is published. */
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

/** From opening the player page to its first frame, against a bare page. */
export async function firstFrame(): Promise<void> {
  const browser = await launchBrowser(['--autoplay-policy=no-user-gesture-required'])
  if (!browser) return console.log('there is no Chromium on this machine: no time to the first frame')
  const folder = await mkdtemp(join(tmpdir(), 'kinora-bench-'))
  const clip = join(folder, 'clip.mp4')
  const source = ['-f', 'lavfi', '-i', 'testsrc2=s=1280x720:r=30:d=14', '-f', 'lavfi', '-i', 'sine=d=14']
  await promisify(execFile)('ffmpeg', ['-v', 'error', ...source, '-preset', 'ultrafast', clip])
  const kinora = await startServer('server/main.ts', {
    KINORA_DATA_DIR: join(folder, 'data'),
    KINORA_PORT: '0',
    KINORA_PRODUCTION_KEY: key,
    KINORA_LOG_LEVEL: 'warn',
  })
  try {
    const media = `${kinora.url}/vod/${await uploadVideo(kinora.url, clip)}`
    const bare = await serveBarePage(`${media}/hls/manifest.m3u8`)
    const times = { ours: [] as number[], bare: [] as number[] }
    for (let round = 0; round <= rounds; round++) {
      const ours = await openPage(browser, `${media}?autoplay=true&muted=true`)
      const theirs = await openPage(browser, bare.url)
      // The first warms up the service and the disk.
      if (round === 0) continue
      times.ours.push(ours)
      times.bare.push(theirs)
    }
    bare.server.close()
    const ratio = median(times.ours) / median(times.bare)
    console.log(
      `first frame: player page ${Math.round(median(times.ours))} ms, bare page with hls.js ${Math.round(median(times.bare))} ms: ${ratio.toFixed(2)} times  goal at most ${goal}  ${ratio <= goal ? 'reached' : 'MISSED'}`,
    )
  } finally {
    await browser.close()
    await stopServer(kinora)
    await rm(folder, { recursive: true, force: true })
  }
}
