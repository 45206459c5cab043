import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '../../context.ts'
import type { Files } from '../../lib/files/files.ts'
import { inParallel } from '../../lib/parallel.ts'
import { readAdts } from '../../media/adts.ts'
import { cutAudio, encodeAudioArgs, leadingFramesOf } from '../../media/audio.ts'
import { audioInit } from '../../media/audio-boxes.ts'
import { runFfmpeg, type Tools } from '../../media/ffmpeg.ts'
import { audioSecondsOf, audioSegmentOf, segmentsOf } from '../../media/grid.ts'
import type { Rung } from '../../media/ladder.ts'
import { audioLimits, inputLimits, videoLimits } from '../../media/limits.ts'
import type { SourceMedia } from '../../media/source-media.ts'
import { encodeVideoArgs, type Overlay } from '../../media/video.ts'
import { newSegmentsKey, segmentFile } from '../../videos/files.ts'
import { audioRendition } from '../renditions/playable.ts'
import { openPlanned } from '../source/arrived-file.ts'
import type { Input } from '../source/input.ts'
import type { EncodingPlan } from '../tables.ts'
import type { StoredRendition } from './complete-chunk.ts'
import { copyChunk, isCopied } from './copy-chunk.ts'
import type { ClaimedChunk } from './encode-chunk-store.ts'
import type { EncodedRendition } from './encoded-rendition.ts'
import { openOverlays } from './overlays.ts'
import type { Decoding } from './schedule.ts'
import { type OnSegments, VideoOutput } from './video-output.ts'

type Deps = Pick<Context, 'files'> & { tools: Tools }

export type ChunkJob = {
  chunk: ClaimedChunk & { decoding: Decoding }
  plan: EncodingPlan
  media: SourceMedia
  /** For temporary files. The encoded segments are there until they are stored. */
  folder: string
  signal: AbortSignal
}

/** Encodes a chunk into the job's folder. */
export async function encodeChunk(
  { files, tools }: Deps,
  job: ChunkJob,
  onSegments: OnSegments,
): Promise<void> {
  const { chunk, plan, folder } = job
  if (isCopied(chunk, plan)) return onSegments([await copyChunk(files, job)])
  const input = await openPlanned(files, chunk.video_id, plan)
  try {
    if (chunk.track === 'sound') await onSegments([await encodeAudio(tools, job, input)])
    else {
      const overlays = await openOverlays(files, { videoId: chunk.video_id, plan, folder })
      await encodeVideo(tools, job, { input, overlays, onSegments })
    }
  } finally {
    await input.close()
  }
}

/** Each file is flushed on its own. Parallel writes share the wait for the disk or for a remote store. */
const maxParallelPuts = 8

export async function storeSegments(files: Files, encoded: EncodedRendition[]): Promise<void> {
  const all = encoded.flatMap(({ key, position, segments }) =>
    segments.map((pass, i) => ({ file: segmentFile(key, position + i), pass })),
  )
  await inParallel(all, maxParallelPuts, ({ file, pass }) => pass((content) => files.put(file, content)))
}

/** The files of these segments. */
export const filesOf = (stored: StoredRendition[]) =>
  stored.flatMap(({ key, position, sizes }) => sizes.map((_, i) => segmentFile(key, position + i)))

const decodingOptions: Record<Decoding, string[]> = {
  full: [],
  fast: ['-skip_loop_filter', 'noref'],
  rough: ['-skip_loop_filter', 'all'],
}

async function encodeVideo(
  tools: Tools,
  job: ChunkJob,
  { input, overlays, onSegments }: { input: Input; overlays: Overlay[]; onSegments: OnSegments },
): Promise<void> {
  const { chunk, plan, media, folder, signal } = job
  const segments = segmentsOf(plan, { firstSegment: chunk.first_segment, segments: chunk.segments })
  const frames = segments.reduce((sum, segment) => sum + segment.frames, 0)
  const outputs = plan.rungs
    .filter(({ quality }) => chunk.qualities.includes(quality))
    .map((rung) => ({ rung: rung as Rung, path: join(folder, `${rung.quality}.mp4`) }))
  const { picture: stream } = media
  const { offsetSeconds, sourceBytes } = plan
  const args = encodeVideoArgs({
    input: stream
      ? {
          path: input.path,
          stream,
          offsetSeconds,
          options: [
            ...inputLimits(input),
            ...decodingOptions[chunk.decoding],
            ...(isStart(chunk, plan) ? startOptions : []),
          ],
        }
      : 'still',
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
  const output = new VideoOutput(
    outputs.map(({ rung, path }) => ({ rendition: rung.quality, path })),
    { chunk, segments, onSegments },
  )
  const stop = new AbortController()
  const onProgress = () => output.advance().catch((error) => stop.abort(error))
  try {
    await runFfmpeg(tools, args, {
      signal: AbortSignal.any([signal, stop.signal]),
      limits,
      onProgress,
      ...runOptions(chunk, plan),
    })
  } catch (error) {
    await output.settle()
    throw stop.signal.aborted ? stop.signal.reason : error
  }
  await output.finish()
}

/** The decoder works in parallel to the encoder. While all slots are busy, one thread for each is faster. */
const startOptions = ['-threads', '2']

/** A viewer may already wait for the start of a video. Only requests are more urgent. */
const runOptions = (chunk: ClaimedChunk, plan: EncodingPlan) =>
  isStart(chunk, plan) ? { priority: 5, progressSeconds: 0.02 } : {}

const isStart = ({ track, first_segment, qualities }: ClaimedChunk, { rungs }: EncodingPlan) =>
  track === 'sound'
    ? first_segment < audioStartSegments
    : first_segment === 0 && qualities.join() === rungs[0]!.quality

/** Audio is encoded in shorter chunks at the start. */
const audioStartSegments = 5

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
    input: input.path,
    inputOptions: inputLimits(input),
    stream,
    channels,
    layout,
    coarseStartSeconds,
    offsetSeconds,
    fromFrame,
    frames,
    output,
  })
  const seconds = audioSecondsOf(plan, frames)
  const limits = sourceBytes === undefined ? {} : audioLimits({ seconds, sourceBytes })
  await runFfmpeg(tools, args, { signal, limits, ...runOptions(chunk, plan) })
  const adts = await readFile(output)
  const fragments = cutAudio(adts, { fromFrame, leadingFrames: leadingFramesOf(fromFrame) }, segments)
  const isFirst = chunk.first_segment === 0
  return {
    rendition: audioRendition,
    key: newSegmentsKey(chunk.video_id, audioRendition, chunk.first_segment),
    position: 0,
    sizes: fragments.map(({ length }) => length),
    initialization: isFirst ? { codec: 'mp4a.40.2', bytes: audioInit(readAdts(adts).config) } : undefined,
    segments: fragments.map((fragment) => (store) => store(fragment)),
  }
}
