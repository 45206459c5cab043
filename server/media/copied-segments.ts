import { audioFragmentHead, audioInit } from './audio-boxes.ts'
import { type CopiedAudio, silentFrame } from './copied-audio.ts'
import type { CopiedVideo, FrameIndexes } from './copied-video.ts'
import { audioSegmentOf, type Grid, type Segment, timescaleOf } from './grid.ts'
import type { Samples } from './mp4-index.ts'
import {
  avcEntry,
  box,
  fullBox,
  matrix,
  nonSyncSample,
  syncSample,
  text,
  trak,
  u16,
  u32,
} from './write-boxes.ts'

/** Bytes of the source, or other bytes. */
export type Piece = { from: number; size: number } | Buffer

/** A segment with the samples of a source: its boxes, then the samples. */
export type CopiedSegment = { head: Buffer; pieces: Piece[]; bytes: number }

const trackId = 1

/** The init segment. It has the same layout as that of the encoded qualities. */
export function copiedInit({ width, height, record }: CopiedVideo, { rate }: Grid): Buffer {
  const { timescale } = timescaleOf(rate)
  const entry = avcEntry({ width, height, record })
  const movieHeader = fullBox(
    ...(['mvhd', 0, 0] as const),
    ...[u32(0, 0, 1000, 0), u32(0x10000), u16(0x100, 0), u32(0, 0), matrix],
    ...[u32(0, 0, 0, 0, 0, 0), u32(trackId + 1)],
  )
  const track = trak({ id: trackId, timescale, handler: 'vide', width, height, entry })
  const mvex = box('mvex', fullBox('trex', 0, 0, u32(trackId, 1, 0, 0, 0)))
  return Buffer.concat([
    box('ftyp', text('iso6'), u32(0x200), text('iso6cmfcmp41')),
    box('moov', movieHeader, track, mvex),
  ])
}

/** The samples of a segment: from the one that is its first frame to the one before the next segment. */
export function findSampleRange(
  starts: Int32Array,
  segment: number,
  count: number,
): { from: number; to: number } {
  return { from: starts[segment]!, to: starts[segment + 1] ?? count }
}

/** For each segment the sample that is its first frame. Undefined if there is none. */
export function findStartSamples({ indexes }: FrameIndexes, starts: number[]): Int32Array | undefined {
  const samples = new Int32Array(starts.length)
  let found = 0
  for (let i = 0; i < indexes.length && found < starts.length; i++)
    if (indexes[i] === starts[found]) samples[found++] = i
  return found === starts.length ? samples : undefined
}

/**
 * A fragment in which every frame has the time of its index on the grid. Decoding times are the sorted presentation times, as
 * in the encoded qualities, so that the first frame needs no offset.
 */
export function copyVideoSegment(
  { offsets, sizes }: Samples,
  { indexes }: FrameIndexes,
  { grid, segment, range }: { grid: Grid; segment: Segment; range: { from: number; to: number } },
): CopiedSegment {
  const { perFrame } = timescaleOf(grid.rate)
  const sorted = indexes.slice(range.from, range.to).sort()
  const count = sorted.length
  const end = segment.fromFrame + segment.frames
  if (count === 0 || sorted[0] !== segment.fromFrame || sorted[count - 1]! >= end)
    throw new Error(`copy: segment ${segment.index} does not have the planned frames`)
  const table = Buffer.allocUnsafe(16 * count)
  const pieces: Piece[] = []
  let dataBytes = 0
  for (let i = 0, at = 0; i < count; i++) {
    const sample = range.from + i
    const [from, size] = [offsets[sample]!, sizes[sample]!]
    at = table.writeUInt32BE(((sorted[i + 1] ?? end) - sorted[i]!) * perFrame, at)
    at = table.writeUInt32BE(size, at)
    // Only the first frame counts as a key frame, as in the encoded qualities: each segment is switched to as a whole.
    at = table.writeUInt32BE(i === 0 ? syncSample : nonSyncSample, at)
    at = table.writeInt32BE((indexes[sample]! - sorted[i]!) * perFrame, at)
    pieces.push({ from, size })
    dataBytes += size
  }
  const decodeTime = Buffer.alloc(8)
  decodeTime.writeBigUInt64BE(BigInt(segment.fromFrame) * BigInt(perFrame))
  const moofWith = (dataOffset: number) =>
    box(
      'moof',
      fullBox('mfhd', 0, 0, u32(segment.index + 1)),
      box(
        'traf',
        fullBox('tfhd', 0, 0x020000, u32(trackId)),
        fullBox('tfdt', 1, 0, decodeTime),
        fullBox('trun', 1, 0x000f01, u32(count, dataOffset), table),
      ),
    )
  const headBytes = moofWith(0).length + 8
  const head = Buffer.concat([moofWith(headBytes), u32(8 + dataBytes), text('mdat')], headBytes)
  return { head, pieces, bytes: headBytes + dataBytes }
}

/** The bytes in front of the table of samples: moof, mfhd, traf, tfhd, tfdt, and the start of trun. */
const tableFrom = 8 + 16 + 8 + 16 + 20 + 20

/**
 * Shows all samples of a copied segment later. ffmpeg moves the times of a file when it finds the first negative offset in
 * it, in the middle of the file. Without negative offsets, it does not.
 */
export function delaySegment(segment: Buffer, frames: number, { rate }: Grid): Buffer {
  const delayed = Buffer.from(segment)
  const count = delayed.readUInt32BE(tableFrom - 8)
  for (let at = tableFrom + 12; at < tableFrom + 16 * count; at += 16)
    delayed.writeInt32BE(delayed.readInt32BE(at) + frames * timescaleOf(rate).perFrame, at)
  return delayed
}

export const copiedAudioInit = ({ config, sampleRate }: CopiedAudio) => audioInit(config, sampleRate)

/** Where the source has no frames, at the start and at the end of the video, there is silence. */
export function copyAudioSegment(
  { offsets, sizes }: Samples,
  { count }: CopiedAudio,
  { grid, index, firstFrame }: { grid: Grid; index: number; firstFrame: number },
): CopiedSegment {
  const { fromFrame, frames } = audioSegmentOf(grid, index)
  const pieces: Piece[] = []
  const pieceSizes: number[] = []
  for (let frame = fromFrame; frame < fromFrame + frames; frame++) {
    const sample = frame - firstFrame
    const isSilent = sample < 0 || sample >= count
    pieces.push(isSilent ? silentFrame : { from: offsets[sample]!, size: sizes[sample]! })
    pieceSizes.push(isSilent ? silentFrame.length : sizes[sample]!)
  }
  const head = audioFragmentHead({ sequence: fromFrame + 1, fromFrame, sizes: pieceSizes })
  return { head, pieces, bytes: pieceSizes.reduce((sum, size) => sum + size, head.length) }
}
