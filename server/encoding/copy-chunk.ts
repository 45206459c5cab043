import type { Body, Files } from '../lib/files/files.ts'
import {
  type CopiedSegment,
  copiedAudioInit,
  copiedInit,
  copyAudioSegment,
  copyVideoSegment,
  findSampleRange,
  findStartSamples,
  type Piece,
} from '../media/copied-segments.ts'
import { segmentsOf } from '../media/grid.ts'
import type { ReadBytes } from '../media/mp4-index.ts'
import { Unreadable } from '../media/probe.ts'
import type { SourceMedia } from '../media/source-media.ts'
import { newSegmentsKey } from '../renditions/files.ts'
import { audioRendition } from '../renditions/playable.ts'
import type { ClaimedChunk } from './chunk-store.ts'
import { type CopiedSource, readCopiedSource } from './copied-source.ts'
import type { EncodedRendition } from './encoded-rendition.ts'
import { isCopiedQuality } from './schedule.ts'
import { openSourceBytes } from './source-bytes.ts'
import type { EncodingPlan } from './tables.ts'

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
  const source = await openSourceBytes(files, key)
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
      segments: cut.segments.map((segment) => () => readSegment(files, key, segment)),
    }
  } finally {
    await source.close()
  }
}

type Cut = { rendition: string; codec: string; init: () => Buffer; segments: CopiedSegment[] }

function cutVideo({ video }: CopiedSource, { chunk, plan }: Copy): Cut | undefined {
  const startSamples = video && findStartSamples(video.frames, plan.starts ?? [])
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

/** Bytes between two samples that are read with them, because another read takes longer. */
const maxGapBytes = { local: 16 * 1024, remote: 1024 * 1024 }
/** Limits the memory: as many segments as are stored in parallel are read at once. */
const maxReadBytes = 8 * 1024 * 1024

async function* readSegment(files: Files, key: string, { head, pieces }: CopiedSegment): Body {
  const source = await openSourceBytes(files, key)
  try {
    yield head
    yield* readPieces(source.read, pieces, maxGapBytes[source.isLocal ? 'local' : 'remote'])
  } finally {
    await source.close()
  }
}

/** The bytes of all pieces in their order. Pieces that are near each other in the file are read together. */
export async function* readPieces(read: ReadBytes, pieces: Piece[], maxGap: number): AsyncGenerator<Buffer> {
  for (let i = 0; i < pieces.length; ) {
    const first = pieces[i]!
    if (Buffer.isBuffer(first)) {
      yield first
      i++
      continue
    }
    let to = first.from + first.size
    let next = i + 1
    for (; next < pieces.length; next++) {
      const piece = pieces[next]!
      if (Buffer.isBuffer(piece) || piece.from < to || piece.from - to > maxGap) break
      if (piece.from + piece.size - first.from > maxReadBytes) break
      to = piece.from + piece.size
    }
    const bytes = await read(first.from, to - first.from)
    yield* slices(bytes, first.from, pieces.slice(i, next) as Exclude<Piece, Buffer>[])
    i = next
  }
}

/** The parts of a buffer, those that follow each other as one. */
function* slices(bytes: Buffer, start: number, places: Exclude<Piece, Buffer>[]): Generator<Buffer> {
  let [from, to] = [0, 0]
  for (const place of places) {
    const at = place.from - start
    if (at !== to) {
      if (to > from) yield bytes.subarray(from, to)
      from = at
    }
    to = at + place.size
  }
  if (to > from) yield bytes.subarray(from, to)
}
