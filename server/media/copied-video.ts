import { setImmediate as nextTurn } from 'node:timers/promises'
import { boxesOf, part } from './boxes.ts'
import { framesIn, segmentSeconds } from './grid.ts'
import {
  type H264Display,
  hasSliceGroups,
  nalIdr,
  nalPps,
  nalSps,
  readDisplay,
  readH264Config,
  readParameterSets,
  UnsupportedStream,
} from './h264.ts'
import { findUnplayable } from './h264-format.ts'
import type { Mp4Track, ReadBytes, Samples } from './mp4-index.ts'
import type { Rational } from './source-media.ts'

/** The H.264 stream of a source whose frames can be copied. */
export type CopiedVideo = {
  width: number
  height: number
  /** The AVCDecoderConfigurationRecord. */
  record: Buffer
  lengthBytes: number
  sps: Buffer[]
  pps: Buffer[]
  /** The numbers of ITU-T H.273, if the stream has them. */
  colors: H264Display['colors']
}

/** Levels that phones and televisions decode. */
const maxHdLevel = 42
const maxLevel = 52
const hdMacroblocks = 8_160
/** Bytes of a video sample entry before its boxes. */
export const videoEntryBytes = 78

/** Undefined if most devices cannot play the stream as it is. */
export function readCopiedVideo({ entry, isTransformed }: Mp4Track): CopiedVideo | undefined {
  if (entry.type !== 'avc1' || isTransformed) return undefined
  try {
    const boxes = new Map(
      [...boxesOf(part(entry.body, videoEntryBytes))].map(({ type, body }) => [type, body]),
    )
    const record = boxes.get('avcC')
    if (!record || hasOtherPixels(boxes.get('pasp'))) return undefined
    const { width, height, format, lengthBytes } = readH264Config(record)
    const { sps, pps } = readParameterSets(record)
    if (sps.length !== 1 || pps.length === 0 || pps.some(hasSliceGroups)) return undefined
    const { level, isFrameOnly, hasSquarePixels, isFullRange, colors } = readDisplay(sps[0]!)
    const blocks = Math.ceil(width / 16) * Math.ceil(height / 16)
    const isPlayable =
      !findUnplayable(format) && isFrameOnly && level <= (blocks <= hdMacroblocks ? maxHdLevel : maxLevel)
    if (!isPlayable || !hasSquarePixels || isFullRange) return undefined
    return { width, height, lengthBytes, record, sps, pps, colors }
  } catch (error) {
    if (error instanceof UnsupportedStream || isDamage(error)) return undefined
    throw error
  }
}

const isDamage = (error: unknown) =>
  error instanceof RangeError || (error as Error).message.startsWith('MP4: ')

const hasOtherPixels = (pasp: Buffer | undefined) =>
  pasp !== undefined && part(pasp, 0, 4).readUInt32BE() !== part(pasp, 4, 4).readUInt32BE()

/** The frame of the grid that each sample of a stream is, in decoding order. */
export type FrameIndexes = {
  indexes: Int32Array
  frames: number
  /** By how many frames a frame is shown at most before its place in the decoding order. */
  delay: number
}

/** A frame may be this far from its place on the grid, in frames. If it were further away, rounding would be arbitrary. */
const maxDeviation = 0.35
const maxFramesPerSample = 4
/** A player that has nothing new to show for longer than this might take it for a stall. */
const maxFrameSeconds = 1
const turnSamples = 100_000

/**
 * Places the samples on a grid of this rate. Undefined unless each has a place of its own and the first is shown first. A
 * place may stay empty: the frame before it is then shown for longer.
 */
export async function placeFrames(
  { samples, shown, timescale }: Mp4Track,
  rate: Rational,
): Promise<FrameIndexes | undefined> {
  const { times, count } = samples
  const first = times[0]!
  const perTick = rate.num / (rate.den * timescale)
  const last = samples.count - 1
  const indexes = new Int32Array(count)
  let max = 0
  for (let i = 0; i <= last; i++) {
    const at = (times[i]! - first) * perTick
    const index = Math.round(at)
    if (!(index >= 0 && index < 2 ** 31) || Math.abs(at - index) > maxDeviation) return undefined
    // A frame that is not shown at all: the edit list of the file cuts it off.
    if (times[i]! < shown.from || times[i]! >= shown.to) return undefined
    indexes[i] = index
    if (index > max) max = index
    if (i % turnSamples === 0) await nextTurn()
  }
  // Where most of the grid is empty, a rendition with all of its frames is easier to play. This also limits the memory.
  const longest = framesIn(rate, maxFrameSeconds)
  if (max >= maxFramesPerSample * count) return undefined
  const isTaken = new Uint8Array(max + 1)
  for (let i = 0; i <= last; i++) {
    if (isTaken[indexes[i]!] === 1) return undefined
    isTaken[indexes[i]!] = 1
    if (i % turnSamples === 0) await nextTurn()
  }
  let delay = 0
  for (let i = 0, last = 0, shown = 0; i <= max; i++) {
    if (isTaken[i] === 1) {
      last = i
      delay = Math.max(delay, i - indexes[shown++]!)
    } else if (i - last >= longest) return undefined
    if (i % turnSamples === 0) await nextTurn()
  }
  return { indexes, frames: max + 1, delay }
}

/** Players have to wait for an entire segment before they can switch to it. */
export const maxSegmentSeconds = 6.5
/** Whether key frames are nowhere too far apart for segments that begin at them. */
export function hasFrequentKeyFrames({ samples, timescale }: Mp4Track): boolean {
  const { times, isSync, count } = samples
  const max = maxSegmentSeconds * timescale
  for (let i = 0, last = 0; i < count; i++) {
    if (isSync[i] === 1) last = i
    else if (times[i]! - times[last]! > max) return false
  }
  return true
}

/** A shorter rest is added to the last segment. */
const minRestSeconds = 1

/** The first segment is short, so that players start soon. */
const minFirstSeconds = 2

/**
 * Chooses the key frames at which segments begin: the first one after the usual length, or an earlier one if the next one
 * would make the segment too long. `keyFrames` are frames of the grid, ascending, the first is 0. Undefined if key frames
 * are too far apart.
 */
export function chooseStarts(
  keyFrames: number[],
  { rate, frames }: { rate: Rational; frames: number },
): number[] | undefined {
  const max = framesIn(rate, maxSegmentSeconds)
  const starts = [0]
  for (const [i, keyFrame] of keyFrames.entries()) {
    const start = starts.at(-1)!
    const next = keyFrames[i + 1] ?? frames
    if (frames - start <= max && frames - keyFrame < framesIn(rate, minRestSeconds)) break
    const target = framesIn(rate, start === 0 ? minFirstSeconds : segmentSeconds)
    if (keyFrame > start && (keyFrame - start >= target || next - start > max)) starts.push(keyFrame)
    if (next - starts.at(-1)! > max) return undefined
  }
  return starts
}

/**
 * The key frames that can begin a segment: nothing before them in the file is shown after them, and nothing after them is
 * shown before them. Returned as numbers of samples.
 */
export async function listClosedKeyFrames(
  { count, isSync }: Samples,
  { indexes }: FrameIndexes,
): Promise<number[]> {
  // The lowest index from each sample on, walking backwards.
  const isLowest = new Uint8Array(count)
  for (let i = count - 1, lowest = Number.POSITIVE_INFINITY; i >= 0; i--) {
    if (indexes[i]! < lowest) {
      lowest = indexes[i]!
      isLowest[i] = 1
    }
    if (i % turnSamples === 0) await nextTurn()
  }
  const found: number[] = []
  for (let i = 0, highest = -1; i < count; i++) {
    if (isSync[i] === 1 && isLowest[i] === 1 && highest < indexes[i]!) found.push(i)
    highest = Math.max(highest, indexes[i]!)
    if (i % turnSamples === 0) await nextTurn()
  }
  return found
}

const firstReadBytes = 1_024
/** Supplemental information in front of a picture may be long, as closed captions. */
const maxReadBytes = 64 * 1_024

/**
 * Whether a sample is an IDR picture, from which a decoder can start with the parameter sets of the init segment. `changed`
 * means that the sample has other parameter sets, so the stream changes here.
 */
export async function checkKeyFrame(
  read: ReadBytes,
  { from, size }: { from: number; size: number },
  video: CopiedVideo,
): Promise<'idr' | 'other' | 'changed'> {
  for (const bytes of [firstReadBytes, maxReadBytes]) {
    const result = readKeyFrame(await read(from, Math.min(size, bytes)), video)
    if (result) return result
    if (bytes >= size) break
  }
  return 'other'
}

/** Undefined if the bytes end before the picture begins. */
export function readKeyFrame(
  bytes: Buffer,
  { lengthBytes, sps, pps }: Pick<CopiedVideo, 'lengthBytes' | 'sps' | 'pps'>,
): 'idr' | 'other' | 'changed' | undefined {
  for (let at = 0; at + lengthBytes < bytes.length; ) {
    const from = at + lengthBytes
    const length = bytes.readUIntBE(at, lengthBytes)
    if (length === 0) return 'other'
    const type = bytes[from]! & 31
    // Types 1 to 5 are parts of a picture.
    if (type >= 1 && type <= nalIdr) return type === nalIdr ? 'idr' : 'other'
    at = from + length
    const known = type === nalSps ? sps : type === nalPps ? pps : undefined
    if (!known) continue
    if (at > bytes.length) return undefined
    const unit = bytes.subarray(from, at)
    if (!known.some((each) => each.equals(unit))) return 'changed'
  }
  return undefined
}
