import { audioRendition } from '../encoding/renditions/playable.ts'
import type { EncodingPlan } from '../encoding/tables.ts'
import { nativeName } from '../lib/languages.ts'
import { maxSegmentSeconds as maxCopiedSegmentSeconds } from '../media/copied-video.ts'
import {
  audioSecondsOf,
  audioSegmentOf,
  countSegments,
  type Grid,
  longestSeconds,
  secondsOf,
  segmentOf,
  segmentSeconds,
} from '../media/grid.ts'

/** The segments of a rendition that are stored without a gap from the first one on. Sizes are in bytes. */
export type Run = {
  rendition: string
  codec: string
  segments: number
  bytes: number
  sizes: number[]
}

export type Master = {
  plan: EncodingPlan
  /** Qualities that have not failed, and the audio. */
  runs: Run[]
  hasAudio: boolean
  /** Of the audio. Null if it is not known. */
  language: string | null
  captions: Caption[]
  /** Also lists qualities without a segment, for a player that knows how far each of them is encoded. */
  hasAllQualities?: boolean
}

type Caption = { language: string; isDefault: boolean }

/** `isFinal` means that the playlist does not grow any more. */
export type Playlist = { isFinal: boolean } & (
  | ({ kind: 'master' } & Master)
  | { kind: 'media'; plan: EncodingPlan; rendition: string; segments: number }
)

/** Players do not pass on the query of a playlist, so it is part of each URL in it. */
export const renderPlaylist = (playlist: Playlist, query: string) =>
  playlist.kind === 'master'
    ? masterPlaylist(playlist, query)
    : mediaPlaylist(playlist.plan, playlist.rendition, playlist.segments, query)

const audioKbps = 128
const audioGroup = 'sound'
const captionsGroup = 'captions'

/** The plan of a source that still arrives gets longer. */
export const isComplete = (plan: Grid & Pick<EncodingPlan, 'partial'>, segments: number) =>
  plan.partial === undefined && segments >= countSegments(plan)

/**
 * Leaves out the qualities that a viewer who starts now would overtake, at the speed at which they were encoded so far.
 * Most players read the list of qualities only once, and stall if the playlist of one does not grow as fast as they play.
 */
export function withoutSlow(plan: EncodingPlan, runs: Run[], elapsedSeconds: number): Run[] {
  const total = secondsOf(plan, plan.frames)
  const encoded = ({ segments }: Run) => secondsOf(plan, segmentOf(plan, segments).fromFrame)
  const keepsUp = (run: Run) =>
    isComplete(plan, run.segments) || encoded(run) * (1 + total / Math.max(1, elapsedSeconds)) >= total
  const video = runs.filter(({ rendition }) => rendition !== audioRendition)
  const [longest] = video.toSorted((a, b) => b.segments - a.segments)
  return runs.filter((run) => run.rendition === audioRendition || run === longest || keepsUp(run))
}

/** Lists the qualities that have at least one segment. A player reads it once, while they may still grow. */
export function masterPlaylist(
  { plan, runs, hasAudio, language, captions, hasAllQualities = false }: Master,
  query = '',
): string {
  const audio = hasAudio ? runs.find(({ rendition }) => rendition === audioRendition) : undefined
  const lines = ['#EXTM3U', '#EXT-X-VERSION:7', '#EXT-X-INDEPENDENT-SEGMENTS']
  if (audio) {
    const name = language ? `NAME="${nativeName(language)}",LANGUAGE="${language}"` : 'NAME="Audio"'
    lines.push(
      `#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="${audioGroup}",${name},DEFAULT=YES,AUTOSELECT=YES,CHANNELS="2",URI="${audioRendition}/manifest.m3u8${query}"`,
    )
  }
  lines.push(...captionLines(captions, query))
  for (const rung of plan.rungs) {
    const run = runs.find(({ rendition }) => rendition === rung.quality)
    if (!run && !hasAllQualities) continue
    const both = [run ?? emptyRun(rung), ...(audio ? [audio] : [])]
    const attributes = [
      ...bandwidths(plan, rung.maxKbps + (audio ? (plan.audioKbps ?? audioKbps) : 0), both),
      `CODECS="${both.map(({ codec }) => codec).join(',')}"`,
      `RESOLUTION=${rung.width}x${rung.height}`,
      `FRAME-RATE=${(plan.rate.num / plan.rate.den).toFixed(3)}`,
      ...(audio ? [`AUDIO="${audioGroup}"`] : []),
      ...(captions.length > 0 ? [`SUBTITLES="${captionsGroup}"`] : []),
    ]
    lines.push(`#EXT-X-STREAM-INF:${attributes.join(',')}`, `${rung.quality}/manifest.m3u8${query}`)
  }
  return `${lines.join('\n')}\n`
}

/** The level of the codec is known with the first segment. Until then, it is what this size needs at most. */
const emptyRun = ({ quality, width, height }: EncodingPlan['rungs'][number]): Run => ({
  rendition: quality,
  codec: width * height <= 1280 * 720 ? 'avc1.640020' : 'avc1.640033',
  segments: 0,
  bytes: 0,
  sizes: [],
})

/** Names must be unique, but two tags may name the same language, as `he` and `iw`. */
function captionLines(captions: Caption[], query: string): string[] {
  const names = new Set<string>()
  return captions.map(({ language, isDefault }) => {
    const native = nativeName(language).replaceAll('"', "'")
    const name = names.has(native) ? `${native} (${language})` : native
    names.add(name)
    const flags = `DEFAULT=${isDefault ? 'YES' : 'NO'},AUTOSELECT=YES,FORCED=NO`
    const uri = `captions/${language}/manifest.m3u8${query}`
    return `#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="${captionsGroup}",NAME="${name}",LANGUAGE="${language}",${flags},URI="${uri}"`
  })
}

/**
 * Until all segments are known, the peak is the limit of the encoder. A segment may exceed it, as the rate control
 * buffer is full at the start of each chunk.
 */
function bandwidths(grid: EncodingPlan, maxKbps: number, runs: Run[]): string[] {
  const limit = maxKbps * 1000
  if (!runs.every(({ segments }) => isComplete(grid, segments))) return [`BANDWIDTH=${limit}`]
  const seconds = secondsOf(grid, grid.frames)
  const perSecond = (of: (run: Run) => number) => Math.ceil(runs.reduce((sum, run) => sum + 8 * of(run), 0))
  const peak = perSecond((run) => peakOf(grid, run))
  const average = perSecond((run) => run.bytes / seconds)
  return [`BANDWIDTH=${Math.max(limit, peak)}`, `AVERAGE-BANDWIDTH=${average}`]
}

/** The most bytes per second of any segment. */
const peakOf = (grid: Grid, { sizes }: Run) =>
  sizes.reduce((peak, size, i) => Math.max(peak, size / secondsOf(grid, segmentOf(grid, i).frames)), 0)

/** The playlist of a quality or of the audio. It only ever grows at its end. */
export function mediaPlaylist(plan: EncodingPlan, rendition: string, segments: number, query = ''): string {
  const isEnded = isComplete(plan, segments)
  // Caches may have the files of an earlier encoding.
  const fileQuery = plan.revision ? `${query ? `${query}&` : '?'}r=${plan.revision}` : query
  const lines = [
    '#EXTM3U',
    '#EXT-X-VERSION:7',
    `#EXT-X-TARGETDURATION:${targetSeconds(plan)}`,
    '#EXT-X-MEDIA-SEQUENCE:0',
    // Without it, players start near the end of a growing playlist.
    ...(isEnded
      ? ['#EXT-X-PLAYLIST-TYPE:VOD']
      : ['#EXT-X-PLAYLIST-TYPE:EVENT', '#EXT-X-START:TIME-OFFSET=0']),
    `#EXT-X-MAP:URI="init.mp4${fileQuery}"`,
  ]
  const startOf = rendition === audioRendition ? audioStart : videoStart
  const prefix = rendition === audioRendition ? 'sound' : 'video'
  const listed = Math.min(segments, countSegments(plan))
  // Start times are rounded, not durations, so that rounding errors do not add up over hours.
  for (let n = 0, from = 0; n < listed; n++) {
    const to = Math.round(startOf(plan, n + 1) * 1e6)
    lines.push(`#EXTINF:${((to - from) / 1e6).toFixed(6)},`, `${prefix}-${n}.m4s${fileQuery}`)
    from = to
  }
  if (isEnded) lines.push('#EXT-X-ENDLIST')
  return `${lines.join('\n')}\n`
}

const videoStart = (grid: Grid, index: number) => secondsOf(grid, segmentOf(grid, index).fromFrame)

const audioStart = (grid: Grid, index: number) => audioSecondsOf(grid, audioSegmentOf(grid, index).fromFrame)

/**
 * The same for all playlists of a video (RFC 8216, 6.2.4), and it must not change. An audio segment is at most one audio
 * frame longer than a video segment.
 */
const targetSeconds = (plan: EncodingPlan) => {
  const longest = plan.partial ? maxSegmentSeconds(plan) : longestSeconds(plan)
  return Math.max(1, Math.round(longest + audioSecondsOf(plan, 1)))
}

/** No later segment is longer, whatever arrives. */
const maxSegmentSeconds = ({ starts }: Grid) => (starts ? maxCopiedSegmentSeconds : 1.25 * segmentSeconds)
