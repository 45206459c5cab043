import { createReadStream } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '../context.ts'
import type { Files } from '../lib/files/files.ts'
import { inParallel } from '../lib/parallel.ts'
import { readAdts } from '../media/adts.ts'
import { cutAudio, encodeAudioArgs, leadingFramesOf } from '../media/audio.ts'
import { audioInit } from '../media/audio-boxes.ts'
import { codecOf, splitFragments } from '../media/boxes.ts'
import { runFfmpeg, type Tools } from '../media/ffmpeg.ts'
import { audioSecondsOf, audioSegmentOf, type Segment, segmentsOf } from '../media/grid.ts'
import type { Rung } from '../media/ladder.ts'
import { audioLimits, inputLimits, videoLimits } from '../media/limits.ts'
import type { SourceMedia } from '../media/source-media.ts'
import { encodeVideoArgs, type Overlay } from '../media/video.ts'
import { newSegmentsKey, segmentFile } from '../renditions/files.ts'
import { audioRendition } from '../renditions/playable.ts'
import type { ClaimedChunk } from './chunk-store.ts'
import { copyChunk, isCopied } from './copy-chunk.ts'
import type { EncodedRendition } from './encoded-rendition.ts'
import { type Input, openInput } from './input.ts'
import { openOverlays } from './overlays.ts'
import type { EncodingPlan } from './tables.ts'

type Deps = Pick<Context, 'files'> & { tools: Tools }

export type ChunkJob = {
  chunk: ClaimedChunk
  plan: EncodingPlan
  media: SourceMedia
  /** For temporary files. The encoded segments are there until they are stored. */
  folder: string
  signal: AbortSignal
}

/** Encodes a chunk into the job's folder. */
export async function encodeChunk({ files, tools }: Deps, job: ChunkJob): Promise<EncodedRendition[]> {
  const { chunk, plan, folder } = job
  if (isCopied(chunk, plan)) return [await copyChunk(files, job)]
  const input = await openInput(files, plan.key)
  try {
    if (chunk.track === 'sound') return [await encodeAudio(tools, job, input)]
    const overlays = await openOverlays(files, { videoId: chunk.video_id, plan, folder })
    return await encodeVideo(tools, job, { input, overlays })
  } finally {
    await input.close()
  }
}

/** Each file is flushed on its own. Parallel writes share the wait for the disk or for a remote store. */
const maxParallelPuts = 8

export async function storeSegments(files: Files, encoded: EncodedRendition[]): Promise<void> {
  for (const { key, segments } of encoded)
    await inParallel(segments.entries(), maxParallelPuts, ([i, open]) =>
      files.put(segmentFile(key, i), open()),
    )
}

async function encodeVideo(
  tools: Tools,
  job: ChunkJob,
  { input, overlays }: { input: Input; overlays: Overlay[] },
): Promise<EncodedRendition[]> {
  const { chunk, plan, media, folder, signal } = job
  const segments = segmentsOf(plan, { firstSegment: chunk.first_segment, segments: chunk.segments })
  const frames = segments.reduce((sum, segment) => sum + segment.frames, 0)
  const outputs = plan.rungs
    .filter(({ quality }) => chunk.qualities.includes(quality))
    .map((rung) => ({ rung: rung as Rung, path: join(folder, `${rung.quality}.mp4`) }))
  const { picture: stream } = media
  const { offsetSeconds, sourceBytes } = plan
  const args = encodeVideoArgs({
    input: stream ? { path: input.path, options: inputLimits(input), stream, offsetSeconds } : 'still',
    grid: plan,
    segments,
    outputs,
    overlays,
    canToneMap: tools.canToneMap,
    hasSeveralSizes: plan.hasSeveralSizes ?? false,
  })
  const sizes = [...(stream ? [stream] : []), ...outputs.map(({ rung }) => rung)]
  const megapixels = sizes.reduce((sum, { width, height }) => sum + (width * height) / 1e6, 0)
  const limits = sourceBytes === undefined ? {} : videoLimits({ frames, megapixels, sourceBytes })
  await runFfmpeg(tools, args, { signal, limits })
  return Promise.all(
    outputs.map(({ rung, path }) => readVideo(path, { chunk, segments, rendition: rung.quality })),
  )
}

/** Finds the segments in the file of one quality. */
async function readVideo(
  path: string,
  { chunk, segments, rendition }: { chunk: ClaimedChunk; segments: Segment[]; rendition: string },
): Promise<EncodedRendition> {
  const { init, fragments } = await splitFragments(path)
  checkFragments(fragments, segments)
  const bytes = chunk.first_segment === 0 ? await readBytes(path, init.to) : undefined
  return {
    rendition,
    key: newSegmentsKey(chunk.video_id, rendition, chunk.first_segment),
    sizes: fragments.map(({ size }) => size),
    initialization: bytes && { codec: codecOf(bytes), bytes },
    segments: fragments.map(
      ({ from, size }) =>
        () =>
          createReadStream(path, { start: from, end: from + size - 1 }),
    ),
  }
}

async function readBytes(path: string, length: number): Promise<Buffer> {
  await using file = await open(path)
  return (await file.read(Buffer.alloc(length), 0, length, 0)).buffer
}

/** Chunks join without a gap only if each segment has exactly the planned number of frames. */
function checkFragments(fragments: { samples: number }[], segments: Segment[]): void {
  const actual = fragments.map(({ samples }) => samples).join(', ')
  const expected = segments.map(({ frames }) => frames).join(', ')
  if (actual !== expected)
    throw new Error(`ffmpeg made segments of ${actual || 'no'} frames instead of ${expected}`)
}

async function encodeAudio(tools: Tools, job: ChunkJob, input: Input): Promise<EncodedRendition> {
  const { chunk, plan, media, folder, signal } = job
  const segments = Array.from({ length: chunk.segments }, (_, i) =>
    audioSegmentOf(plan, chunk.first_segment + i),
  )
  const { fromFrame } = segments[0]!
  const last = segments.at(-1)!
  const frames = last.fromFrame + last.frames - fromFrame
  const output = join(folder, 'sound.aac')
  const { index: stream, channels, layout, coarseStartSeconds } = media.sound!
  const { offsetSeconds, sourceBytes } = plan
  const args = encodeAudioArgs({
    ...{ input: input.path, inputOptions: inputLimits(input), stream, channels, layout, coarseStartSeconds },
    ...{ offsetSeconds, fromFrame, frames, output },
  })
  const seconds = audioSecondsOf(plan, frames)
  const limits = sourceBytes === undefined ? {} : audioLimits({ seconds, sourceBytes })
  await runFfmpeg(tools, args, { signal, limits })
  const adts = await readFile(output)
  const fragments = cutAudio(adts, { fromFrame, leadingFrames: leadingFramesOf(fromFrame) }, segments)
  const isFirst = chunk.first_segment === 0
  return {
    rendition: audioRendition,
    key: newSegmentsKey(chunk.video_id, audioRendition, chunk.first_segment),
    sizes: fragments.map(({ length }) => length),
    initialization: isFirst ? { codec: 'mp4a.40.2', bytes: audioInit(readAdts(adts).config) } : undefined,
    segments: fragments.map((fragment) => () => fragment),
  }
}
