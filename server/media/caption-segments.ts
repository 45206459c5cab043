import { type Grid, secondsOf } from './grid.ts'
import { type Cue, formatWebVtt } from './webvtt.ts'

/**
 * A minute of captions has a few kilobytes. The playlists of subtitles may have another target duration than those of video
 * and audio if they are of the type VOD (RFC 8216, 6.2.4).
 */
const segmentSeconds = 60

/** Our media starts at 0 on its timeline. The segments contain the times of the whole file. */
const timestampMap = 'X-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:0'

const countCaptionSegments = (grid: Grid) => Math.ceil(secondsOf(grid, grid.frames) / segmentSeconds)

const segmentStart = (grid: Grid, index: number) =>
  Math.min(index * segmentSeconds, secondsOf(grid, grid.frames))

/** Complete from the start, even while the video is being encoded: its duration is known. */
export function captionPlaylist(grid: Grid, query: string): string {
  const targetSeconds = Math.max(1, Math.round(segmentStart(grid, 1)))
  const lines = [
    '#EXTM3U',
    '#EXT-X-VERSION:7',
    `#EXT-X-TARGETDURATION:${targetSeconds}`,
    '#EXT-X-MEDIA-SEQUENCE:0',
    '#EXT-X-PLAYLIST-TYPE:VOD',
  ]
  for (let n = 0; n < countCaptionSegments(grid); n++) {
    const seconds = segmentStart(grid, n + 1) - segmentStart(grid, n)
    lines.push(`#EXTINF:${seconds.toFixed(6)},`, `${n}.vtt${query}`)
  }
  lines.push('#EXT-X-ENDLIST')
  return `${lines.join('\n')}\n`
}

/** A cue is in every segment that it overlaps, with its own times. Undefined when there is no such segment. */
export function captionSegment(grid: Grid, cues: Cue[], index: number): string | undefined {
  if (index >= countCaptionSegments(grid)) return undefined
  const [fromMs, toMs] = [segmentStart(grid, index) * 1000, segmentStart(grid, index + 1) * 1000]
  const shown = cues.filter(({ startMs, endMs }) => startMs < toMs && endMs > fromMs)
  return formatWebVtt(shown, [timestampMap])
}
