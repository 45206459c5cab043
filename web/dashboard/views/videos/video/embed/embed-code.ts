export type EmbedOptions = {
  autoplay: boolean
  muted: boolean
  loop: boolean
  hideTitle: boolean
  hideControls: boolean
  showSubtitles: boolean
  /** As typed: `90`, `1:30` or `0:01:30`. */
  start: string
  end: string
  /** Pixels, as typed. Null: as wide as the page allows. */
  width: string | null
}

export const defaultOptions: EmbedOptions = {
  autoplay: false,
  muted: false,
  loop: false,
  hideTitle: false,
  hideControls: false,
  showSubtitles: false,
  start: '',
  end: '',
  width: null,
}

export const flags = [
  'autoplay',
  'muted',
  'loop',
  'hideTitle',
  'hideControls',
  'showSubtitles',
] as const satisfies (keyof EmbedOptions)[]

export const isTime = (text: string) => /^(\d+:){0,2}\d+(\.\d+)?$/.test(text.trim())

export const widths = { min: 100, max: 8_000 }

export const isWidth = (text: string) =>
  /^\d+$/.test(text.trim()) && Number(text) >= widths.min && Number(text) <= widths.max

/** The URL of the player with the options that differ from the defaults. */
export function playerUrl(player: string, options: EmbedOptions): string {
  const query = flags.filter((name) => options[name]).map((name) => `${name}=true`)
  const [start, end] = [options.start, options.end].map((time) => (isTime(time) ? time.trim() : ''))
  if (start || end) query.push(`t=${start}${end ? `,${end}` : ''}`)
  return query.length === 0 ? player : `${player}${player.includes('?') ? '&' : '?'}${query.join('&')}`
}

const escapes: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (c) => escapes[c] ?? c)

const shapePattern = /width="100%" style="aspect-ratio: (\d+) \/ (\d+); border: 0"/

/**
 * The API's HTML with another URL and another size. Without options it is exactly that of the API. A width that is not one
 * is left out.
 */
export function embedCode(assets: { iframe: string; player: string }, options: EmbedOptions): string {
  const url = escapeHtml(playerUrl(assets.player, options))
  const code = assets.iframe.replace(/src="[^"]*"/, () => `src="${url}"`)
  const [shape, w, h] = shapePattern.exec(code) ?? []
  if (options.width === null || !isWidth(options.width) || shape === undefined) return code
  const width = Number(options.width)
  const height = Math.round((width * Number(h)) / Number(w))
  return code.replace(shape, `width="${width}" height="${height}" style="border: 0"`)
}
