import { ApiError, httpErrors } from '../../lib/errors.ts'
import { playlistType } from '../../playback/hls.ts'
import { type Content, inMemory } from '../../playback/send.ts'
import { cacheOneSecond } from '../../playback/serve.ts'
import type { BroadcastSource } from '../state/broadcast-lookup.ts'
import type { LiveBroadcast } from '../state/live-broadcast.ts'
import type { WindowState } from '../state/playlist-window.ts'
import { partMs } from '../state/rendition.ts'
import { writePlaylist } from './playlist.ts'

/** The delivery directives of low-latency HLS (RFC 8216bis, 6.2.5). */
export type Directives = { sequence: number | undefined; part: number | undefined; skips: boolean }

/** The route has no schema, so a query parameter may be a list. */
export function readDirectives(query: unknown): Directives {
  const { _HLS_msn: msn, _HLS_part: part, _HLS_skip: skip } = query as Record<string, string | string[]>
  const [sequence, partNumber] = [msn, part].map((value) => toNumber(value))
  if (sequence === undefined && partNumber !== undefined) throw invalidDirective('_HLS_msn')
  return { sequence, part: partNumber, skips: skip !== undefined }
}

function toNumber(value: string | string[] | undefined): number | undefined {
  const [text] = [value ?? []].flat()
  if (text === undefined) return undefined
  if (!/^\d{1,9}$/.test(text)) throw invalidDirective('_HLS_msn')
  return Number(text)
}

const invalidDirective = (name: string) =>
  new ApiError(httpErrors.badRequest, { name, detail: `"${name}" must be a whole number.` })

/** Players may ask for a part of the segment after the next one at most. */
const maxAhead = 2

/**
 * Waits until the playlist contains what the player asks for. False if the wait has ended without it, for instance
 * because the encoder is disconnected.
 */
export async function waitForPlaylist(
  { live }: BroadcastSource,
  quality: string,
  { sequence, part }: Directives,
  signal: AbortSignal,
): Promise<boolean> {
  const window = live.rendition(quality)?.window
  if (!window || sequence === undefined) return true
  const { segments, open } = window.state
  const last = open?.sequence ?? segments.at(-1)?.sequence ?? -1
  if (sequence > last + maxAhead) throw invalidDirective('_HLS_msn')
  const isMet = () => window.lists(sequence, part)
  await window.waitUntil(isMet, signal)
  return isMet() || live.isEnded
}

type Rendering = { skips: boolean; query: string }

/** All viewers of a public stream get the same, until something happens. */
export function loadPlaylistContent(source: BroadcastSource, quality: string, rendering: Rendering): Content {
  const { live, hasParts } = source
  const key = `${quality} ${rendering.skips} ${hasParts} ${rendering.query}`
  const known = live.playlists.get(key)
  if (known) return known
  const content = inMemory(
    Buffer.from(renderPlaylist(source, quality, rendering)),
    playlistType,
    cacheOneSecond,
  )
  if (rendering.query === '') live.playlists.set(key, content)
  return content
}

export function renderPlaylist(
  { live, hasParts }: BroadcastSource,
  quality: string,
  { skips, query }: Rendering,
): string {
  const { window } = live.rendition(quality)!
  return writePlaylist(window.state, {
    targetSeconds: live.targetSeconds ?? 2,
    partMs: hasParts ? longestPart(window.state) : undefined,
    query,
    skips: skips && hasParts,
    reports: hasParts ? reportsOf(live, quality) : [],
  })
}

/** Longer than intended at low frame rates. */
const longestPart = ({ segments, open }: WindowState) =>
  Math.max(
    partMs,
    ...[...segments.slice(-3), ...(open ? [open] : [])].flatMap(({ parts }) =>
      parts.map(({ durationMs }) => durationMs),
    ),
  )

function reportsOf(live: LiveBroadcast, quality: string) {
  return live.qualities
    .filter((other) => other !== quality)
    .flatMap((other) => {
      const state = live.rendition(other)?.window.state
      const edge = state?.open ?? state?.segments.at(-1)
      if (!edge) return []
      const part = state?.open ? state.open.parts.length - 1 : undefined
      return [{ path: `../${other}/index.m3u8`, sequence: edge.sequence, part }]
    })
}
