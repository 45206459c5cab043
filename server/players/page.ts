import { escapeHtml } from '../lib/html.ts'
import { iconDataUrl } from '../lib/icon.ts'
import type { Entry } from './assets.ts'
import { firstFile, type PlayerConfig } from './config.ts'

/** For search engines and link previews. */
export type Preview = {
  description: string
  size: { width: number; height: number }
}

type Page = {
  config: PlayerConfig
  publicUrl: string
  /** Only for public videos. */
  preview: Preview | undefined
  entry: Entry | undefined
}

/** The title of a page without a title of its own. */
function fallbackTitle({ type, state }: PlayerConfig): string {
  const noun = type === 'live' ? 'live stream' : 'video'
  if (state === 'private') return `This ${noun} is private`
  if (state === 'missing') return `There is no such ${noun}`
  return type === 'live' ? 'Live stream' : 'Video'
}

/** The master playlist is served. */
const isPlayable = ({ state }: PlayerConfig) => state === 'ready' || state === 'live' || state === 'away'

/** The page that is embedded. It does not depend on the query: the script reads the options. */
export function playerPage({ config, publicUrl, preview, entry }: Page): string {
  const title = config.title || fallbackTitle(config)
  const lines = [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">',
    // The styles are part of the script. Until it runs, the page would be white.
    '<meta name="color-scheme" content="dark">',
    `<title>${escapeHtml(title)}</title>`,
    // A file would be another request before the first frame.
    `<link rel="icon" href="${escapeHtml(iconDataUrl)}">`,
    ...(entry ? entryTags(entry) : []),
    // Loaded in parallel with the script, which saves a round trip.
    ...(entry && isPlayable(config)
      ? [`<link rel="preload" as="fetch" crossorigin href="${escapeHtml(firstFile(config))}">`]
      : []),
    ...(preview
      ? previewTags(config, preview, publicUrl, title)
      : ['<meta name="robots" content="noindex">']),
    '</head>',
    '<body>',
    `<script type="application/json" id="kinora">${escapeJson(config)}</script>`,
    '<main>',
    `<noscript>${noScript(config)}</noscript>`,
    ...(entry
      ? []
      : ['<p>The player has not been built: stop the service and run <code>npm start</code>.</p>']),
    '</main>',
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

/** JSON that neither ends a script element nor contains line separators of JavaScript. */
const escapeJson = (value: unknown) =>
  JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

function noScript({ mp4, state }: PlayerConfig): string {
  if (mp4 === null || state !== 'ready') return '<p>This player needs JavaScript.</p>'
  return `<p>This player needs JavaScript. <a href="${escapeHtml(mp4)}">Watch the video as a file.</a></p>`
}

/** Open Graph and Twitter cards, so that a pasted link shows a player. */
function previewTags(
  config: PlayerConfig,
  { description, size }: Preview,
  publicUrl: string,
  title: string,
): string[] {
  const player = `${publicUrl}/${config.type}/${config.videoId}`
  const absolute = (path: string | null) => path && publicUrl + path
  const image = absolute(config.poster)
  const file = isPlayable(config) ? absolute(config.mp4 ?? config.hls) : null
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
  const oembedTag = `<link rel="alternate" type="application/json+oembed" href="${escapeHtml(oembed)}" title="${escapeHtml(title)}">`
  const tag = (attribute: string) => (pair: [string, string | null]) =>
    pair[1] === null ? [] : [`<meta ${attribute}="${pair[0]}" content="${escapeHtml(pair[1])}">`]
  return [
    `<link rel="canonical" href="${escapeHtml(player)}">`,
    oembedTag,
    ...graph.flatMap(tag('property')),
    ...names.flatMap(tag('name')),
  ]
}

/**
 * The Content-Security-Policy. `storeOrigin` is the origin of media that the file store serves.
 *
 * Inline styles are allowed because media-chrome's elements have style elements in their shadow trees. There is no
 * frame-ancestors, because any page may embed a player and `*` would exclude pages of apps (capacitor:) and files.
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
