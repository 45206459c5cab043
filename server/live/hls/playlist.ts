import type { WindowSegment, WindowState } from '../state/playlist-window.ts'

type PlaylistOptions = {
  /** The longest duration of a segment in whole seconds. It never changes during a broadcast. */
  targetSeconds: number
  /** Undefined for a playlist without parts, which is not updated at once. */
  partMs: number | undefined
  /** Appended to every URL, for private streams: `?avh=…`. */
  query: string
  /** The player has the older segments from an earlier playlist. */
  skips: boolean
  /** The live edge of the other qualities. */
  reports: { path: string; sequence: number; part: number | undefined }[]
}

/** Segments that are at least this many target durations old can be left out of an update. RFC 8216bis requires six. */
const skipTargets = 6
/** RFC 8216bis requires three. */
const holdBackParts = 3

/** Writes the playlist of one quality for low-latency HLS. Players that know plain HLS ignore the tags about parts. */
export function writePlaylist(state: WindowState, options: PlaylistOptions): string {
  const { targetSeconds, partMs } = options
  const { segments } = state
  const hasParts = partMs !== undefined
  const open = hasParts ? state.open : undefined
  const skipped = options.skips ? countSkipped(segments, skipTargets * targetSeconds * 1000) : 0
  const first = segments[0] ?? open
  const discontinuities = (first?.epoch ?? 1) - 1
  const head = [
    '#EXTM3U',
    '#EXT-X-VERSION:9',
    `#EXT-X-TARGETDURATION:${targetSeconds}`,
    ...(hasParts ? writeControl(partMs, targetSeconds) : []),
    `#EXT-X-MEDIA-SEQUENCE:${first?.sequence ?? 0}`,
    ...(discontinuities > 0 ? [`#EXT-X-DISCONTINUITY-SEQUENCE:${discontinuities}`] : []),
    ...(skipped > 0 ? [`#EXT-X-SKIP:SKIPPED-SEGMENTS=${skipped}`] : []),
  ]
  let epoch = segments[skipped - 1]?.epoch
  const listed = [...segments.slice(skipped), ...(open ? [open] : [])]
  const body = listed.flatMap((segment) => {
    const lines = writeSegment(segment, { epoch, hasParts, isOpen: segment === open, query: options.query })
    epoch = segment.epoch
    return lines
  })
  return [...head, ...body, ...writeEnd(state, options), ''].join('\n')
}

function writeControl(partMs: number, targetSeconds: number): string[] {
  const holdBack = seconds(holdBackParts * partMs)
  const skipUntil = seconds(skipTargets * targetSeconds * 1000)
  return [
    `#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=${holdBack},CAN-SKIP-UNTIL=${skipUntil}`,
    `#EXT-X-PART-INF:PART-TARGET=${seconds(partMs)}`,
  ]
}

type SegmentOptions = { epoch: number | undefined; hasParts: boolean; isOpen: boolean; query: string }

function writeSegment(segment: WindowSegment, options: SegmentOptions): string[] {
  const { epoch, isOpen, query } = options
  const { sequence, durationMs, receivedAt, isGap } = segment
  const parts = options.hasParts ? segment.parts : []
  const isNewEpoch = epoch !== segment.epoch
  return [
    // One for each epoch, also for those that this quality has nothing of.
    ...Array.from({ length: segment.epoch - (epoch ?? segment.epoch) }, () => '#EXT-X-DISCONTINUITY'),
    ...(isNewEpoch ? [`#EXT-X-MAP:URI="init-${segment.epoch}.mp4${query}"`] : []),
    `#EXT-X-PROGRAM-DATE-TIME:${new Date(receivedAt).toISOString()}`,
    ...parts.map((part, i) => {
      const independent = part.isIndependent ? ',INDEPENDENT=YES' : ''
      return `#EXT-X-PART:DURATION=${seconds(part.durationMs)},URI="${sequence}-${segment.epoch}.${i}.m4s${query}"${independent}`
    }),
    ...(isGap ? ['#EXT-X-GAP'] : []),
    ...(isOpen ? [] : [`#EXTINF:${seconds(durationMs)},`, `${sequence}-${segment.epoch}.m4s${query}`]),
  ]
}

function writeEnd(state: WindowState, options: PlaylistOptions): string[] {
  if (state.isEnded) return ['#EXT-X-ENDLIST']
  return options.partMs === undefined ? [] : writeTail(state, options)
}

/** The part that comes next, so that players can request it before it exists, and the edge of the other qualities. */
function writeTail({ segments, open }: WindowState, { query, reports }: PlaylistOptions): string[] {
  const sequence = open?.sequence ?? (segments.at(-1)?.sequence ?? -1) + 1
  const epoch = open?.epoch ?? segments.at(-1)?.epoch ?? 1
  return [
    `#EXT-X-PRELOAD-HINT:TYPE=PART,URI="${sequence}-${epoch}.${open?.parts.length ?? 0}.m4s${query}"`,
    ...reports.map((report) => {
      const part = report.part === undefined ? '' : `,LAST-PART=${report.part}`
      return `#EXT-X-RENDITION-REPORT:URI="${report.path}${query}",LAST-MSN=${report.sequence}${part}`
    }),
  ]
}

function countSkipped(segments: readonly WindowSegment[], keptMs: number): number {
  let kept = 0
  let index = segments.length
  while (index > 0 && kept < keptMs) kept += segments[--index]!.durationMs
  return index
}

const seconds = (ms: number) => String(ms / 1000)
