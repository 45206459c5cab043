import { escapeHtml } from '../lib/html.ts'
import type { Entry } from './assets.ts'
import type { PlayerConfig } from './config.ts'

/** What is told to those who do not play: search engines, pages that show a preview of a link. */
export type Preview = {
  description: string
  size: { width: number; height: number }
}

type Page = {
  config: PlayerConfig
  publicUrl: string
  /** Of a public video only. */
  preview: Preview | undefined
  entry: Entry | undefined
}

const titles: Record<PlayerConfig['state'], string> = {
  ready: 'Video',
  processing: 'Video',
  failed: 'Video',
  private: 'This video is private',
  missing: 'There is no such video',
}

/** The page that is embedded. Nothing in it depends on the query: options are read by the script. */
export function playerPage({ config, publicUrl, preview, entry }: Page): string {
  const title = config.title || titles[config.state]
  const lines = [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">',
    `<title>${escapeHtml(title)}</title>`,
    // Else browsers ask for one.
    '<link rel="icon" href="data:,">',
    ...(entry ? entryTags(entry) : []),
    // Asked for while the script is still on its way, which saves a way to the server and back.
    ...(entry && config.state === 'ready'
      ? [`<link rel="preload" as="fetch" crossorigin href="${escapeHtml(config.hls)}">`]
      : []),
    ...(preview
      ? previewTags(config, preview, publicUrl, title)
      : ['<meta name="robots" content="noindex">']),
    '</head>',
    '<body>',
    `<script type="application/json" id="kinora">${escapeJson(config)}</script>`,
    `<noscript>${noScript(config)}</noscript>`,
    ...(entry
      ? []
      : ['<p>The player has not been built: stop the service and run <code>npm start</code>.</p>']),
    '</body>',
    '</html>',
    '',
  ]
  return lines.join('\n')
}

function entryTags({ script, styles, imports }: Entry): string[] {
  return [
    ...styles.map((href) => `<link rel="stylesheet" href="${escapeHtml(href)}">`),
    ...imports.map((href) => `<link rel="modulepreload" href="${escapeHtml(href)}">`),
    `<script type="module" src="${escapeHtml(script)}"></script>`,
  ]
}

/** JSON that no parser of HTML takes for anything else, and no parser of scripts for an end of line. */
export const escapeJson = (value: unknown) =>
  JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

function noScript({ mp4, state }: PlayerConfig): string {
  if (mp4 === null || state !== 'ready') return '<p>This player needs JavaScript.</p>'
  return `<p>This player needs JavaScript. <a href="${escapeHtml(mp4)}">Watch the video as a file.</a></p>`
}

/** Open Graph and what goes by its model, so that a pasted link becomes a player. */
function previewTags(
  config: PlayerConfig,
  { description, size }: Preview,
  publicUrl: string,
  title: string,
): string[] {
  const player = `${publicUrl}/vod/${config.videoId}`
  const absolute = (path: string | null) => path && publicUrl + path
  const image = absolute(config.poster)
  const file = config.state === 'ready' ? absolute(config.mp4 ?? config.hls) : null
  const fileType = config.mp4 ? 'video/mp4' : 'application/vnd.apple.mpegurl'
  const { width, height } = { width: String(size.width), height: String(size.height) }
  const isSecure = publicUrl.startsWith('https:')
  const graph: [string, string | null][] = [
    ['og:type', 'video.other'],
    ['og:site_name', 'Kinora'],
    ['og:url', player],
    ['og:title', title],
    ['og:description', description || null],
    ['og:image', image],
    ['og:video', player],
    ['og:video:secure_url', isSecure ? player : null],
    ['og:video:type', 'text/html'],
    ['og:video:width', width],
    ['og:video:height', height],
    ['og:video:url', file],
    ['og:video:type', file && fileType],
    ['og:video:width', file && width],
    ['og:video:height', file && height],
  ]
  const names: [string, string | null][] = [
    ['description', description || null],
    ['twitter:card', 'player'],
    ['twitter:title', title],
    ['twitter:description', description || null],
    ['twitter:image', image],
    ['twitter:player', player],
    ['twitter:player:width', width],
    ['twitter:player:height', height],
  ]
  const oembed = `${publicUrl}/oembed?url=${encodeURIComponent(player)}`
  const tag = (attribute: string) => (pair: [string, string | null]) =>
    pair[1] === null ? [] : [`<meta ${attribute}="${pair[0]}" content="${escapeHtml(pair[1])}">`]
  return [
    `<link rel="canonical" href="${escapeHtml(player)}">`,
    `<link rel="alternate" type="application/json+oembed" href="${escapeHtml(oembed)}" title="${escapeHtml(title)}">`,
    ...graph.flatMap(tag('property')),
    ...names.flatMap(tag('name')),
  ]
}

/**
 * What the page may load. `storeOrigin` is where media come from that are not served by us.
 *
 * Styles within the page: the controls of media-chrome are custom elements that bring their own, as elements in their
 * shadow trees. No frame-ancestors: any page may embed a player, and `*` would keep out those that are not of the
 * web, such as the pages of apps (capacitor:) and files.
 */
export function contentPolicy(storeOrigin: string | undefined): string {
  const store = storeOrigin ? ` ${storeOrigin}` : ''
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    `img-src 'self' data: blob:${store}`,
    `media-src 'self' blob:${store}`,
    `connect-src 'self' blob:${store}`,
    "font-src 'self'",
    "worker-src 'self' blob:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
}
