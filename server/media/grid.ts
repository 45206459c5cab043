import { audioSampleRate, frameSamples } from './audio-format.ts'
import { maxFrames } from './content.ts'
import type { Rational } from './probe.ts'

/**
 * Time in frames of a constant rate. Segments and chunks begin and end on frames, so that separately encoded chunks join
 * without a gap, and the durations in playlists are exact.
 */
export type Grid = {
  rate: Rational
  frames: number
  /** The first frame of each segment, if the segments begin at the key frames of the source. */
  starts?: number[]
  /** The sample rate of the audio, if it is not the one that audio is encoded with. */
  audioRate?: number
  /** The lengths of the short segments at the start, in seconds. Encodings of earlier versions have one of 2 s. */
  shortSeconds?: number[]
}

export type Segment = { index: number; fromFrame: number; frames: number }

/**
 * The first segments are short, so that they are ready soon, each before the ones before it have been played. The others
 * are longer, because key frames cost bytes.
 */
const shortSeconds = [1, 1, 2, 2, 2, 2]
/** Of encodings of earlier versions. */
const oldShortSeconds = [2]
export const segmentSeconds = 4

export const secondsOf = ({ rate }: Grid, frames: number) => (frames * rate.den) / rate.num

export const framesIn = (rate: Rational, seconds: number) => Math.round((seconds * rate.num) / rate.den)

export function makeGrid(rate: Rational, seconds: number): Grid {
  return { rate, frames: Math.max(1, framesIn(rate, seconds)), shortSeconds }
}

/**
 * Where the grid begins so that the source's frames lie on its points: at most one frame away from the wanted time. If the
 * grid were off by half a frame, timestamps in milliseconds (Matroska, FLV) would round some frames to the point before
 * and some to the point after. AAC audio that begins 21 ms early would cause exactly that at 24 frames per second.
 */
export function alignGrid(rate: Rational, wantedSeconds: number, videoStartSeconds: number): number {
  const frame = rate.den / rate.num
  const start = videoStartSeconds + Math.round((wantedSeconds - videoStartSeconds) / frame) * frame
  return start < 0 ? start + frame : start
}

/** Lowers the rate if the few frames of a file would be repeated too often. */
export function boundRate(rate: Rational, seconds: number, content: { frames: number }): Rational {
  const perSecond = rate.num / rate.den
  const max = maxFrames(content, perSecond) / seconds
  return max < perSecond ? { num: Math.max(1, Math.floor(max)), den: 1 } : rate
}

export const segmentFrames = (rate: Rational) => Math.max(1, framesIn(rate, segmentSeconds))

/** The first frame of a segment, if the video is long enough. */
function boundary({ rate, shortSeconds: short = oldShortSeconds }: Grid, index: number): number {
  let frame = Math.max(0, index - short.length) * segmentFrames(rate)
  for (let i = 0; i < index && i < short.length; i++) frame += Math.max(1, framesIn(rate, short[i]!))
  return frame
}

/** A remainder below a quarter of a segment is added to the last segment. */
export function countSegments(grid: Grid): number {
  const { rate, frames, starts, shortSeconds: short = oldShortSeconds } = grid
  if (starts) return starts.length
  const last = frames - segmentFrames(rate) / 4
  for (let count = 1; count <= short.length; count++) if (boundary(grid, count) >= last) return count
  return short.length + Math.ceil((last - boundary(grid, short.length)) / segmentFrames(rate))
}

/** The first frame of a segment. Segments after the last one begin at the end of the video. */
function startOf(grid: Grid, index: number): number {
  if (index >= countSegments(grid)) return grid.frames
  return grid.starts ? grid.starts[index]! : boundary(grid, index)
}

export function segmentOf(grid: Grid, index: number): Segment {
  const fromFrame = startOf(grid, index)
  return { index, fromFrame, frames: startOf(grid, index + 1) - fromFrame }
}

/** The index of the segment that contains a frame. */
export function findSegment(grid: Grid, frame: number): number {
  if (grid.starts) return findLast(grid.starts, frame)
  const { rate, shortSeconds: short = oldShortSeconds } = grid
  const after = frame - boundary(grid, short.length)
  let index = short.length + Math.floor(after / segmentFrames(rate))
  if (after < 0) for (index = 0; boundary(grid, index + 1) <= frame; ) index++
  return Math.min(index, countSegments(grid) - 1)
}

/** The index of the last of these ascending numbers that is at most `value`, or 0. */
function findLast(numbers: number[], value: number): number {
  let [from, to] = [0, numbers.length - 1]
  while (from < to) {
    const middle = Math.ceil((from + to) / 2)
    if (numbers[middle]! <= value) from = middle
    else to = middle - 1
  }
  return from
}

/** The duration of the longest segment. */
export function longestSeconds(grid: Grid): number {
  // On a regular grid, the first segments are short, the last may be the longest, and all others are equal.
  const { shortSeconds: short = oldShortSeconds } = grid
  const last = countSegments(grid) - 1
  const indexes = grid.starts ? grid.starts.keys() : [0, Math.min(last, 2), short.length, last]
  let longest = 0
  for (const index of indexes) longest = Math.max(longest, segmentOf(grid, index).frames)
  return secondsOf(grid, longest)
}

const audioRateOf = ({ audioRate = audioSampleRate }: Grid) => audioRate

/** The duration of AAC frames. */
export const audioSecondsOf = (grid: Grid, frames: number) => (frames * frameSamples) / audioRateOf(grid)

/** In audio frames, which do not line up with video frames: each begins at the audio frame nearest to the video's start. */
export function audioSegmentOf(grid: Grid, index: number): { fromFrame: number; frames: number } {
  // Multiplied before divided, so that only one rounding occurs.
  const { num, den } = grid.rate
  const start = (n: number) => Math.round((startOf(grid, n) * den * audioRateOf(grid)) / (num * frameSamples))
  return { fromFrame: start(index), frames: start(index + 1) - start(index) }
}

export const segmentsOf = (
  grid: Grid,
  { firstSegment, segments }: { firstSegment: number; segments: number },
) => Array.from({ length: segments }, (_, i) => segmentOf(grid, firstSegment + i))

/** The track's timescale and the ticks per frame, as whole numbers that are fine enough to distinguish similar rates. */
export function timescaleOf({ num, den }: Rational): { timescale: number; perFrame: number } {
  const factor = Math.ceil(10_000 / num)
  return { timescale: num * factor, perFrame: den * factor }
}
