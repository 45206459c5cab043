import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Pages, servePages } from './browser.ts'

// Pages of another origin with published players: hls.js, Shaka Player and video.js.

const scripts = {
  'hls.js': 'hls.js/dist/hls.min.js',
  'Shaka Player': 'shaka-player/dist/shaka-player.compiled.js',
  'video.js': 'video.js/dist/video.min.js',
}
export type PlayerName = keyof typeof scripts
export const playerNames = Object.keys(scripts) as PlayerName[]

type Page = {
  /** Attributes of the video element. */
  attributes: string
  url: string
  /** The code that plays `url` in `video`. It calls `report` with errors, which are then in `errors`. */
  script: string
}

/** Serves a page for each player: `?player=hls.js`. `pageOf` also gets the other parameters. */
export const servePlayers = (
  pageOf: (name: PlayerName, parameters: URLSearchParams) => Page,
): Promise<Pages> =>
  servePages(({ url }, response) => {
    const { pathname, searchParams } = new URL(url ?? '', 'http://localhost')
    const name = playerNames.find((each) => each === searchParams.get('player'))
    if (!name) return void response.writeHead(404).end()
    if (pathname === '/') return void response.end(write(name, pageOf(name, searchParams)))
    response.setHeader('content-type', 'text/javascript')
    response.end(readFileSync(fileURLToPath(import.meta.resolve(scripts[name]))))
  })

const write = (name: string, { attributes, url, script }: Page) => `<!doctype html>
  <video ${attributes}></video>
  <script src="/script?player=${encodeURIComponent(name)}"></script>
  <script>
    const errors = []
    const report = (error) => errors.push(String(error.message ?? error))
    const video = document.querySelector('video')
    const url = ${JSON.stringify(url)}
    ${script}
  </script>`
