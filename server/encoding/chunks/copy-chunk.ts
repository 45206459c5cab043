import { BufferPool } from '../../lib/buffer-pool.ts'
import type { Files } from '../../lib/files/files.ts'
import {
  type CopiedSegment,
  copiedAudioInit,
  copiedInit,
  copyAudioSegment,
  copyVideoSegment,
  findSampleRange,
  findStartSamples,
  type Piece,
} from '../../media/copied-segments.ts'
import { segmentsOf } from '../../media/grid.ts'
import { Unreadable } from '../../media/probe.ts'
import type { SourceMedia } from '../../media/source-media.ts'
import { newSegmentsKey } from '../../videos/files.ts'
import { audioRendition } from '../renditions/playable.ts'
import { openPlannedBytes } from '../source/arrived-file.ts'
import { type CopiedSource, readCopiedSource } from '../source/copied-source.ts'
import type { SourceBytes } from '../source/source-bytes.ts'
import type { EncodingPlan } from '../tables.ts'
import type { ClaimedChunk } from './encode-chunk-store.ts'
import type { EncodedRendition, PassSegment } from './encoded-rendition.ts'
import { isCopiedQuality } from './schedule.ts'

type Copy = { chunk: ClaimedChunk; plan: EncodingPlan; media: SourceMedia }

/** Whether the segments of a chunk consist of samples of the source. */
export const isCopied = ({ track, qualities }: ClaimedChunk, plan: EncodingPlan): boolean =>
  track === 'sound'
    ? plan.copiesAudio === true
    : qualities.length === 1 && isCopiedQuality(plan, qualities[0])

/** Cuts a chunk out of the source. The samples are read when the segments are stored. */
export async function copyChunk(files: Files, copy: Copy): Promise<EncodedRendition> {
  const { chunk, plan, media } = copy
  const { key, rate } = plan
  const open = () => openPlannedBytes(files, chunk.video_id, plan)
  const source = await open()
  try {
    const copied = await readCopiedSource(source, { key, media, rate })
    const cut = copied && (chunk.track === 'sound' ? cutAudio(copied, copy) : cutVideo(copied, copy))
    if (!cut) throw new Unreadable('The source file has changed since it was examined.')
    return {
      rendition: cut.rendition,
      key: newSegmentsKey(chunk.video_id, cut.rendition, chunk.first_segment),
      position: 0,
      sizes: cut.segments.map(({ bytes }) => bytes),
      initialization: chunk.first_segment === 0 ? { codec: cut.codec, bytes: cut.init() } : undefined,
      segments: cut.segments.map((segment) => (store) => passSegment(open, segment, store)),
    }
  } finally {
    await source.close()
  }
}

type Cut = { rendition: string; codec: string; init: () => Buffer; segments: CopiedSegment[] }

function cutVideo({ video }: CopiedSource, { chunk, plan }: Copy): Cut | undefined {
  const startSamples = video && findStartSamples(video.frames, startsOf(plan))
  if (!startSamples) return undefined
  const { format, samples, frames } = video
  const { first_segment: firstSegment, segments } = chunk
  return {
    rendition: plan.rungs.at(-1)!.quality,
    codec: `avc1.${format.record.toString('hex', 1, 4)}`,
    init: () => copiedInit(format, plan),
    segments: segmentsOf(plan, { firstSegment, segments }).map((segment) => {
      const range = findSampleRange(startSamples, segment.index, samples.count)
      return copyVideoSegment(samples, frames, { grid: plan, segment, range })
    }),
  }
}

/** The source goes on after the last segment of a partial plan. */
const startsOf = ({ starts = [], frames, partial }: EncodingPlan) => (partial ? [...starts, frames] : starts)

function cutAudio({ audio }: CopiedSource, { chunk, plan }: Copy): Cut | undefined {
  const { firstAudioFrame: firstFrame } = plan
  if (!audio || firstFrame === undefined) return undefined
  const { format, samples } = audio
  return {
    rendition: audioRendition,
    codec: 'mp4a.40.2',
    init: () => copiedAudioInit(format),
    segments: Array.from({ length: chunk.segments }, (_, i) =>
      copyAudioSegment(samples, format, { grid: plan, index: chunk.first_segment + i, firstFrame }),
    ),
  }
}

type Place = Exclude<Piece, Buffer>
/** Places in a source that are read together. */
type Read = { from: number; bytes: number; places: Place[] }

/** Bytes between two samples that are read with them, because another read takes longer. */
const maxGapBytes = { local: 128 * 1024, remote: 1024 * 1024 }
const maxReadBytes = 2 * 1024 * 1024
/** A segment of 4K has about 10 MB. Bitrates that could make it much larger are not copied. */
const pool = new BufferPool(64 * 1024 * 1024)

async function passSegment(
  open: () => Promise<SourceBytes>,
  { head, pieces }: CopiedSegment,
  store: Parameters<PassSegment>[0],
): Promise<void> {
  const source = await open()
  try {
    const parts = planReads(pieces, maxGapBytes[source.isLocal ? 'local' : 'remote'])
    await pool.use(neededBytes(parts), async (buffer) =>
      store([head, await readParts(source, parts, buffer)]),
    )
  } finally {
    await source.close()
  }
}

/** Pieces that are near each other in the file are read together. */
function planReads(pieces: Piece[], maxGap: number): (Read | Buffer)[] {
  const parts: (Read | Buffer)[] = []
  for (const piece of pieces) {
    const last = parts.at(-1)
    if (Buffer.isBuffer(piece)) parts.push(piece)
    else if (last && !Buffer.isBuffer(last) && isNear(last, piece, maxGap)) {
      last.places.push(piece)
      last.bytes = piece.from + piece.size - last.from
    } else parts.push({ from: piece.from, bytes: piece.size, places: [piece] })
  }
  return parts
}

function isNear({ from, bytes }: Read, place: Place, maxGap: number): boolean {
  const gap = place.from - (from + bytes)
  return gap >= 0 && gap <= maxGap && place.from + place.size - from <= maxReadBytes
}

const contentBytes = (part: Read | Buffer) =>
  Buffer.isBuffer(part) ? part.length : part.places.reduce((sum, { size }) => sum + size, 0)

/** Each part is read behind the content of those before it, with the gaps between its places. */
function neededBytes(parts: (Read | Buffer)[]): number {
  let [end, needed] = [0, 0]
  for (const part of parts) {
    needed = Math.max(needed, end + (Buffer.isBuffer(part) ? part.length : part.bytes))
    end += contentBytes(part)
  }
  return needed
}

async function readParts(
  { readInto }: Pick<SourceBytes, 'readInto'>,
  parts: (Read | Buffer)[],
  buffer: Buffer,
): Promise<Buffer> {
  let end = 0
  for (const part of parts) {
    if (Buffer.isBuffer(part)) {
      end += part.copy(buffer, end)
      continue
    }
    const start = end
    await readInto(buffer.subarray(start, start + part.bytes), part.from)
    for (const { from, size } of part.places) {
      const at = start + from - part.from
      if (at !== end) buffer.copyWithin(end, at, at + size)
      end += size
    }
  }
  return buffer.subarray(0, end)
}
