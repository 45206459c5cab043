import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Context } from '../context.ts'
import type { Body, Files } from '../lib/files/files.ts'
import { inParallel } from '../lib/parallel.ts'
import { readAdts } from '../media/adts.ts'
import { pictureArgs } from '../media/argv.ts'
import { codecOf, splitFragments } from '../media/boxes.ts'
import { runFfmpeg, type Tools } from '../media/ffmpeg.ts'
import { type Segment, segmentsOf, soundSegmentOf } from '../media/grid.ts'
import type { Rung } from '../media/ladder.ts'
import { inputLimits, pictureLimits, soundLimits } from '../media/limits.ts'
import { cutSound, dropOf, frameSamples, soundChunkArgs, soundInit, soundRate } from '../media/sound.ts'
import type { SourceMedia } from '../media/source-media.ts'
import { segmentFile } from '../renditions/files.ts'
import { type Input, openInput } from './input.ts'
import type { Encoded } from './settle.ts'
import type { ClaimedChunk } from './store.ts'
import type { EncodingPlan } from './tables.ts'

type Deps = Pick<Context, 'files'> & { tools: Tools }

const watermark = fileURLToPath(new URL('sandbox.png', import.meta.url))

export const mediaFolder = (videoId: string) => `videos/${videoId}/hls`

/** Encodes a chunk and stores it; what is stored does not count before it is noted. */
export async function encodeChunk(
  deps: Deps,
  chunk: ClaimedChunk,
  { plan, media }: { plan: EncodingPlan; media: SourceMedia },
  folder: string,
  signal: AbortSignal,
  stored: string[],
): Promise<Encoded[]> {
  const input = await openInput(deps.files, plan.key)
  try {
    const encode = chunk.track === 'sound' ? encodeSound : encodePicture
    return await encode(deps, { chunk, plan, media, input, folder, signal, stored })
  } finally {
    await input.close()
  }
}

type Work = {
  chunk: ClaimedChunk
  plan: EncodingPlan
  media: SourceMedia
  input: Input
  folder: string
  signal: AbortSignal
  /** Keys of which something is, or may be, in the store. */
  stored: string[]
}

type Encode = (deps: Deps, work: Work) => Promise<Encoded[]>

/** A name of its own for each try: one that was given up may still be writing. */
const newKey = ({ video_id, first_segment }: ClaimedChunk, rendition: string) =>
  `${mediaFolder(video_id)}/${rendition}/${first_segment}-${randomUUID()}`

/** Each file is flushed by itself: side by side they wait for the disk, or for a store far away, together. */
const putsAtOnce = 8

const putSegments = (files: Files, key: string, bodies: (() => Body | Buffer)[]) =>
  inParallel(bodies.entries(), putsAtOnce, ([i, body]) => files.put(segmentFile(key, i), body()))

const encodePicture: Encode = async (deps, { chunk, plan, media, input, folder, signal, stored }) => {
  const { files, tools } = deps
  const segments = segmentsOf(plan, { firstSegment: chunk.first_segment, segments: chunk.segments })
  const frames = segments.reduce((sum, segment) => sum + segment.frames, 0)
  const outputs = plan.rungs
    .filter(({ quality }) => chunk.qualities.includes(quality))
    .map((rung) => ({ rung: rung as Rung, path: join(folder, `${rung.quality}.mp4`) }))
  const args = pictureArgs({
    input: media.picture
      ? {
          path: input.path,
          options: inputLimits(input),
          picture: media.picture,
          offsetSeconds: plan.offsetSeconds,
        }
      : 'still',
    grid: plan,
    fromFrame: segments[0]!.fromFrame,
    frames,
    segments: segments.length,
    outputs,
    watermark: plan.isWatermarked ? await copyWatermark(folder) : undefined,
    canToneMap: tools.canToneMap,
  })
  const { sourceBytes } = plan
  const sizes = [...(media.picture ? [media.picture] : []), ...outputs.map(({ rung }) => rung)]
  const megapixels = sizes.reduce((sum, { width, height }) => sum + (width * height) / 1e6, 0)
  const limits = sourceBytes === undefined ? {} : pictureLimits({ frames, megapixels, sourceBytes })
  await runFfmpeg(tools, args, { signal, limits })
  const encoded: Encoded[] = []
  for (const { rung, path } of outputs) {
    const { init, fragments } = await splitFragments(path)
    checkFragments(fragments, segments)
    const key = newKey(chunk, rung.quality)
    stored.push(key)
    const bodies = fragments.map(
      ({ from, size }) =>
        () =>
          createReadStream(path, { start: from, end: from + size - 1 }),
    )
    await putSegments(files, key, bodies)
    const bytes = chunk.first_segment === 0 ? await readBytes(path, init.to) : undefined
    encoded.push({
      rendition: rung.quality,
      key,
      sizes: fragments.map(({ size }) => size),
      initialization: bytes && { codec: codecOf(bytes), bytes },
    })
  }
  return encoded
}

/** Where ffmpeg can read it: the program's own folder may be closed to the user that ffmpeg runs as. */
async function copyWatermark(folder: string): Promise<string> {
  const path = join(folder, 'watermark.png')
  await writeFile(path, await readFile(watermark))
  return path
}

async function readBytes(path: string, length: number): Promise<Buffer> {
  await using file = await open(path)
  return (await file.read(Buffer.alloc(length), 0, length, 0)).buffer
}

/** What joins without a gap only if it is exactly what was asked for. */
function checkFragments(fragments: { samples: number }[], segments: Segment[]): void {
  const [got, wanted] = [fragments.map(({ samples }) => samples), segments.map(({ frames }) => frames)]
  if (got.join() !== wanted.join())
    throw new Error(`ffmpeg made segments of ${got.join(', ') || 'no'} frames, not of ${wanted.join(', ')}`)
}

const encodeSound: Encode = async (deps, { chunk, plan, media, input, folder, signal, stored }) => {
  const segments = Array.from({ length: chunk.segments }, (_, i) =>
    soundSegmentOf(plan, chunk.first_segment + i),
  )
  const { fromFrame } = segments[0]!
  const last = segments.at(-1)!
  const frames = last.fromFrame + last.frames - fromFrame
  const output = join(folder, 'sound.aac')
  const { index: stream, channels, layout, coarseStartSeconds } = media.sound!
  const args = soundChunkArgs({
    ...{ input: input.path, inputOptions: inputLimits(input), stream, channels, layout, coarseStartSeconds },
    offsetSeconds: plan.offsetSeconds,
    fromFrame,
    frames,
    output,
  })
  const { sourceBytes } = plan
  const seconds = (frames * frameSamples) / soundRate
  const limits = sourceBytes === undefined ? {} : soundLimits({ seconds, sourceBytes })
  await runFfmpeg(deps.tools, args, { signal, limits })
  const adts = await readFile(output)
  const fragments = cutSound(adts, { fromFrame, drop: dropOf(fromFrame) }, segments)
  const key = newKey(chunk, 'sound')
  stored.push(key)
  await putSegments(
    deps.files,
    key,
    fragments.map((fragment) => () => fragment),
  )
  return [
    {
      rendition: 'sound',
      key,
      sizes: fragments.map(({ length }) => length),
      initialization:
        chunk.first_segment === 0
          ? { codec: 'mp4a.40.2', bytes: soundInit(readAdts(adts).config) }
          : undefined,
    },
  ]
}
