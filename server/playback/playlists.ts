import type { EncodingPlan } from '../encoding/tables.ts'
import { countSegments, type Grid, secondsOf, segmentOf, soundSegmentOf } from '../media/grid.ts'
import { frameSamples, soundRate } from '../media/sound.ts'

/** `sound` beside the qualities. */
export const sound = 'sound'

/** The segments of a rendition that are there, from the first on without a gap; sizes in bytes. */
export type Run = {
  rendition: string
  codec: string
  segments: number
  bytes: number
  firstBytes: number
  largestBytes: number
}

export type Master = {
  plan: EncodingPlan
  /** What can be played: qualities that have not failed, and the sound. */
  runs: Run[]
  hasSound: boolean
}

const soundKbps = 128
const soundFrameSeconds = frameSamples / soundRate
const soundGroup = 'sound'

export const isWhole = (grid: Grid, segments: number) => segments >= countSegments(grid)

/**
 * Lists the qualities that have begun. A player reads it once, so it must hold for what is still to come. `query` ends
 * the addresses of a viewer: players do not pass it on by themselves.
 */
export function masterPlaylist({ plan, runs, hasSound }: Master, query = ''): string {
  const soundRun = hasSound ? runs.find(({ rendition }) => rendition === sound) : undefined
  const lines = ['#EXTM3U', '#EXT-X-VERSION:7', '#EXT-X-INDEPENDENT-SEGMENTS']
  if (soundRun) {
    const name = 'NAME="Sound",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="2"'
    lines.push(
      `#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="${soundGroup}",${name},URI="${sound}/manifest.m3u8${query}"`,
    )
  }
  for (const rung of plan.rungs) {
    const run = runs.find(({ rendition }) => rendition === rung.quality)
    if (!run) continue
    const both = soundRun ? [run, soundRun] : [run]
    const attributes = [
      ...bandwidths(plan, rung.maxKbps + (soundRun ? soundKbps : 0), both),
      `CODECS="${both.map(({ codec }) => codec).join(',')}"`,
      `RESOLUTION=${rung.width}x${rung.height}`,
      `FRAME-RATE=${(plan.rate.num / plan.rate.den).toFixed(3)}`,
      ...(soundRun ? [`AUDIO="${soundGroup}"`] : []),
    ]
    lines.push(`#EXT-X-STREAM-INF:${attributes.join(',')}`, `${rung.quality}/manifest.m3u8${query}`)
  }
  return `${lines.join('\n')}\n`
}

/**
 * The peak is what the encoder is held to, until all segments are known: it may pass that limit for the length of a
 * segment, as its buffer is full at the start of each chunk.
 */
function bandwidths(grid: Grid, maxKbps: number, runs: Run[]): string[] {
  const limit = maxKbps * 1000
  if (!runs.every(({ segments }) => isWhole(grid, segments))) return [`BANDWIDTH=${limit}`]
  const seconds = secondsOf(grid, grid.frames)
  const [first, longest] = [firstSeconds(grid), longestSeconds(grid)]
  const perSecond = (of: (run: Run) => number) => Math.ceil(runs.reduce((sum, run) => sum + 8 * of(run), 0))
  const peak = perSecond((run) => Math.max(run.firstBytes / first, run.largestBytes / longest))
  const average = perSecond((run) => run.bytes / seconds)
  return [`BANDWIDTH=${Math.max(limit, peak)}`, `AVERAGE-BANDWIDTH=${average}`]
}

/** Of a quality or of the sound, with as many segments as there are. It grows at its end only. */
export function mediaPlaylist(plan: EncodingPlan, rendition: string, segments: number, query = ''): string {
  const isEnded = isWhole(plan, segments)
  const lines = [
    '#EXTM3U',
    '#EXT-X-VERSION:7',
    `#EXT-X-TARGETDURATION:${targetSeconds(plan)}`,
    '#EXT-X-MEDIA-SEQUENCE:0',
    // Players begin near the end of a list that grows unless told otherwise.
    ...(isEnded
      ? ['#EXT-X-PLAYLIST-TYPE:VOD']
      : ['#EXT-X-PLAYLIST-TYPE:EVENT', '#EXT-X-START:TIME-OFFSET=0']),
    `#EXT-X-MAP:URI="init.mp4${query}"`,
  ]
  const startOf = rendition === sound ? soundStart : pictureStart
  const prefix = rendition === sound ? 'sound' : 'video'
  const listed = Math.min(segments, countSegments(plan))
  // Starts are rounded, not durations: what is rounded off a segment does not add up over hours.
  for (let n = 0, from = 0; n < listed; n++) {
    const to = Math.round(startOf(plan, n + 1) * 1e6)
    lines.push(`#EXTINF:${((to - from) / 1e6).toFixed(6)},`, `${prefix}-${n}.m4s${query}`)
    from = to
  }
  if (isEnded) lines.push('#EXT-X-ENDLIST')
  return `${lines.join('\n')}\n`
}

const pictureStart = (grid: Grid, index: number) => secondsOf(grid, segmentOf(grid, index).fromFrame)

const soundStart = (grid: Grid, index: number) => soundSegmentOf(grid, index).fromFrame * soundFrameSeconds

/**
 * The same for all playlists of a video (RFC 8216, 6.2.4) and for all of its time. A segment of sound is longer than
 * one of the picture by a frame at the most.
 */
const targetSeconds = (grid: Grid) => Math.max(1, Math.round(longestSeconds(grid) + soundFrameSeconds))

const firstSeconds = (grid: Grid) => secondsOf(grid, segmentOf(grid, 0).frames)
/** The first is short and the last may be longer than all others, which are alike. */
const longestSeconds = (grid: Grid) =>
  Math.max(...[0, 1, countSegments(grid) - 1].map((n) => secondsOf(grid, segmentOf(grid, n).frames)))
