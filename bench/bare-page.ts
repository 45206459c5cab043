import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { HlsConfig } from 'hls.js'
import { type Pages, servePages } from '../test/support/browser/browser.ts'

/** The reference for our player: a page with only a video element and hls.js. */
export async function serveBarePage(hls: string, config: Partial<HlsConfig>): Promise<Pages> {
  const script = await readFile(fileURLToPath(import.meta.resolve('hls.js/dist/hls.min.js')))
  const page = `<!doctype html><title>Bare</title><video muted autoplay playsinline></video>
    <script src="/hls.js"></script><script>
      const hls = new Hls(${JSON.stringify(config)})
      hls.loadSource(${JSON.stringify(hls)})
      hls.attachMedia(document.querySelector('video'))
    </script>`
  return servePages((request, response) => {
    const isScript = request.url === '/hls.js'
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
    response.end(isScript ? script : page)
  })
}
