import { maxFrames } from './content.ts'
import type { Rational } from './probe.ts'
import { frameSamples, soundRate } from './sound.ts'

/**
 * Time in whole frames of one constant rate. Segments and chunks begin and end on frames, so that what is encoded
 * apart joins without a gap, and the durations in playlists are exact.
 */
export type Grid = { rate: Rational; frames: number }

export type Segment = { index: number; fromFrame: number; frames: number }

/** A run of segments that is encoded at once. */
export type Chunk = { index: number; firstSegment: number; segments: number }

/** The first segment is short, so that it is there soon; the others are long, as key frames cost bytes. */
const firstSeconds = 2
const segmentSeconds = 4

type Cut = {
  /** So that there is something to do for the slots of several workers: of what is left, no more than its share. */
  leastChunks: number
  /** So that not much is lost with a worker. */
  mostSegments: number
}

export const pictureCut: Cut = { leastChunks: 8, mostSegments: 5 }
/** Sound is quick to encode: five minutes at once, as each start of ffmpeg costs as much as seconds of it. */
export const soundCut: Cut = { leastChunks: 1, mostSegments: 75 }

export const secondsOf = ({ rate }: Grid, frames: number) => (frames * rate.den) / rate.num

export const framesIn = (rate: Rational, seconds: number) => Math.round((seconds * rate.num) / rate.den)

export function makeGrid(rate: Rational, seconds: number): Grid {
  return { rate, frames: Math.max(1, framesIn(rate, seconds)) }
}

/**
 * Where a grid begins that has the frames of a picture on its points: at most a frame from the wanted time on. Half a
 * frame off it, timestamps in milliseconds (Matroska, FLV) would put some frames on the point before and some on the
 * one after; sound that begins 21 ms ahead (AAC) makes that of 24 frames a second.
 */
export function alignGrid(rate: Rational, wantedSeconds: number, pictureStartSeconds: number): number {
  const frame = rate.den / rate.num
  const start = pictureStartSeconds + Math.round((wantedSeconds - pictureStartSeconds) / frame) * frame
  return start < 0 ? start + frame : start
}

/** The rate, unless that would repeat the few frames that a file holds too often. */
export function boundRate(rate: Rational, seconds: number, content: { frames: number }): Rational {
  const perSecond = rate.num / rate.den
  const most = maxFrames(content, perSecond) / seconds
  return most < perSecond ? { num: Math.max(1, Math.floor(most)), den: 1 } : rate
}

export const segmentFrames = (rate: Rational) => Math.max(1, framesIn(rate, segmentSeconds))
const firstFrames = (rate: Rational) => Math.max(1, framesIn(rate, firstSeconds))

/** What is left over becomes a segment of its own only if it is worth one. */
export function countSegments({ rate, frames }: Grid): number {
  const rest = frames - firstFrames(rate)
  return 1 + Math.max(0, Math.ceil((rest - segmentFrames(rate) / 4) / segmentFrames(rate)))
}

export function segmentOf(grid: Grid, index: number): Segment {
  const count = countSegments(grid)
  const start = (n: number) => {
    if (n >= count) return grid.frames
    return n === 0 ? 0 : firstFrames(grid.rate) + (n - 1) * segmentFrames(grid.rate)
  }
  return { index, fromFrame: start(index), frames: start(index + 1) - start(index) }
}

/** The segment that a frame is in. */
export function findSegment(grid: Grid, frame: number): number {
  const after = frame - firstFrames(grid.rate)
  const index = after < 0 ? 0 : 1 + Math.floor(after / segmentFrames(grid.rate))
  return Math.min(index, countSegments(grid) - 1)
}

/** In frames of sound, which do not fit those of the picture: each begins at the one next to the picture's beginning. */
export function soundSegmentOf(grid: Grid, index: number): { fromFrame: number; frames: number } {
  // Multiplied before it is divided: whole numbers up to the one rounding.
  const { num, den } = grid.rate
  const start = (n: number) =>
    Math.round((segmentOf(grid, n).fromFrame * den * soundRate) / (num * frameSamples))
  return { fromFrame: start(index), frames: start(index + 1) - start(index) }
}

/** The first segment alone, then the others in runs, shorter ones towards the end: no slot waits long for the last. */
export function listChunks(grid: Grid, { leastChunks, mostSegments }: Cut): Chunk[] {
  const count = countSegments(grid)
  const chunks: Chunk[] = [{ index: 0, firstSegment: 0, segments: 1 }]
  for (let next = 1, segments = 1; next < count; next += segments) {
    segments = Math.min(mostSegments, Math.ceil((count - next) / leastChunks))
    chunks.push({ index: chunks.length, firstSegment: next, segments })
  }
  return chunks
}

export const segmentsOf = (
  grid: Grid,
  { firstSegment, segments }: Pick<Chunk, 'firstSegment' | 'segments'>,
) => Array.from({ length: segments }, (_, i) => segmentOf(grid, firstSegment + i))

/** What of the track's time one frame takes: whole numbers, fine enough to be told from the next rate. */
export function timescaleOf({ num, den }: Rational): { timescale: number; perFrame: number } {
  const factor = Math.ceil(10_000 / num)
  return { timescale: num * factor, perFrame: den * factor }
}
