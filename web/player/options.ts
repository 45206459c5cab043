import type { Theme } from './player-config.ts'

/** The options in the URL of the page. */
export type Options = {
  autoplay: boolean
  muted: boolean
  loop: boolean
  hideControls: boolean
  hidePoster: boolean
  hideTitle: boolean
  /** No controls at all, not even the unmute button. */
  chromeless: boolean
  showSubtitles: boolean
  hotkeys: boolean
  /** Whether the viewing is reported. */
  analytics: boolean
  startSeconds: number | undefined
  endSeconds: number | undefined
  /** Heights in pixels. */
  minQuality: number | undefined
  maxQuality: number | undefined
  metadata: Record<string, string>
  api: boolean
  sdkPlayerId: string | undefined
  /** Origin of the embedding page. Messages from other origins are ignored. */
  sdkOrigin: string | undefined
}

/** Reads options from the query and the fragment. Invalid ones are ignored. */
export function readOptions(page: URL): Options {
  const query = readQuery(page.search)
  const fragment = readFragment(page.hash)
  const has = (queryName: string, fragmentName: string) =>
    isOn(query.get(queryName)) || isOn(fragment.get(fragmentName))
  const [startSeconds, endSeconds] = readRange(fragment.get('t') ?? query.get('t') ?? '')
  return {
    autoplay: has('autoplay', 'autoplay'),
    muted: has('muted', 'muted'),
    loop: has('loop', 'loop'),
    hideControls: has('hideControls', 'hide-controls'),
    hidePoster: has('hidePoster', 'hide-poster'),
    hideTitle: has('hideTitle', 'hide-title'),
    chromeless: has('chromeless', 'chromeless'),
    showSubtitles: has('showSubtitles', 'show-subtitles'),
    hotkeys: fragment.get('hotkeys') !== 'false',
    analytics: fragment.get('analytics') !== 'false',
    startSeconds,
    endSeconds,
    minQuality: readNumber(fragment.get('min-quality')),
    maxQuality: readNumber(fragment.get('max-quality')),
    metadata: readMetadata(query),
    api: isOn(fragment.get('api')),
    sdkPlayerId: fragment.get('sdkPlayerId'),
    sdkOrigin: readOrigin(fragment.get('sdkOrigin')),
  }
}

/** The theme can turn options on, but not off. */
export function withTheme(options: Options, theme: Theme): Options {
  return {
    ...options,
    autoplay: options.autoplay || theme.forceAutoplay,
    loop: options.loop || theme.forceLoop,
    hideTitle: options.hideTitle || theme.hideTitle,
    hideControls: options.hideControls || !theme.enableControls,
  }
}

/**
 * Like URLSearchParams, but accepts the unencoded values that the SDK writes: a plus sign is a plus sign, and a single
 * percent sign is kept.
 */
function readQuery(search: string): Map<string, string> {
  const found = new Map<string, string>()
  for (const part of search.replace(/^\?/, '').split('&')) {
    const end = part.indexOf('=')
    const name = decode(end < 0 ? part : part.slice(0, end))
    if (name !== '') found.set(name, end < 0 ? '' : decode(part.slice(end + 1)))
  }
  return found
}

/** Reads `autoplay;t=10,20;min-quality:360`. The SDK prepends new options, so the first one of a name counts. */
function readFragment(hash: string): Map<string, string> {
  const found = new Map<string, string>()
  for (const part of hash.replace(/^#/, '').split(';')) {
    const [, name = '', value = ''] = /^([^:=]*)[:=]?(.*)$/s.exec(part.trim()) ?? []
    if (name !== '' && !found.has(name)) found.set(name, decode(value))
  }
  return found
}

function readMetadata(query: Map<string, string>): Record<string, string> {
  const metadata: Record<string, string> = {}
  for (const [name, value] of query) {
    const key = /^metadata\[(.+)\]$/s.exec(name)?.[1]
    if (key !== undefined) metadata[key] = value
  }
  return metadata
}

/** Reads `10`, `10,20` or `,20`, in seconds, mm:ss or hh:mm:ss. */
function readRange(text: string): [start: number | undefined, end: number | undefined] {
  const [start, end] = text.split(',').map(readTime)
  return [start, end !== undefined && end > (start ?? 0) ? end : undefined]
}

function readTime(text: string): number | undefined {
  const parts = text.trim().split(':')
  if (parts.length > 3 || !parts.every((part) => /^\d+(\.\d+)?$/.test(part))) return undefined
  return parts.reduce((sum, part) => sum * 60 + Number(part), 0)
}

function readNumber(text: string | undefined): number | undefined {
  const number = Number.parseInt(text ?? '', 10)
  return number > 0 ? number : undefined
}

function readOrigin(encoded: string | undefined): string | undefined {
  try {
    return encoded ? new URL(atob(encoded)).origin : undefined
  } catch {
    return undefined
  }
}

/** An option without a value is on. */
function isOn(value: string | undefined): boolean {
  return value !== undefined && !['false', '0', 'no', 'undefined', 'null'].includes(value.toLowerCase())
}

/** Decodes each sequence separately, because an unencoded value may mix plain percent signs with encoded characters. */
function decode(text: string): string {
  return text.replace(/(%[0-9a-f]{2})+/gi, (part) => {
    try {
      return decodeURIComponent(part)
    } catch {
      return part
    }
  })
}
