import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { inParallel } from '../server/lib/parallel.ts'
import { encodeAudioArgs } from '../server/media/audio.ts'
import { audioSampleRate, frameSamples } from '../server/media/audio-format.ts'
import type { Rung } from '../server/media/ladder.ts'
import { inputLimits } from '../server/media/limits.ts'
import { mp4Args } from '../server/media/remux.ts'
import { encodeVideoArgs } from '../server/media/video.ts'
import { rungsOf } from './encode-references.ts'
import { type Cost, type Source, timed } from './ffmpeg.ts'

type Chunk = { firstSegment: number; segments: number }

const firstSeconds = 2
const segmentSeconds = 4

/** The frame at which each segment begins, and the end of the last one. */
function listStarts({ rate, seconds }: Source): number[] {
  const framesIn = (duration: number) => Math.round((duration * rate.num) / rate.den)
  const [first, other, frames] = [firstSeconds, segmentSeconds, seconds].map(framesIn) as [
    number,
    number,
    number,
  ]
  const others = Math.max(0, Math.ceil((frames - first - other / 4) / other))
  return [0, ...Array.from({ length: others }, (_, i) => first + i * other), frames]
}

/** The first segment is a chunk of its own. The others have at most a fraction of the remaining segments. */
function listChunks(count: number, { minChunks, maxSegments }: { minChunks: number; maxSegments: number }) {
  const chunks: Chunk[] = [{ firstSegment: 0, segments: 1 }]
  for (let next = 1, segments = 1; next < count; next += segments) {
    segments = Math.min(maxSegments, Math.ceil((count - next) / minChunks))
    chunks.push({ firstSegment: next, segments })
  }
  return chunks
}

/**
 * Encodes all qualities of each chunk together with Kinora's arguments: everything is decoded once, and only the first
 * segment of the lowest quality comes before the others. This is the cheapest plan for the whole video, but its playlists
 * grow too slowly. Like the service it runs one process on each core, and makes an MP4 of the highest quality.
 */
export async function encodeTogether(source: Source, folder: string): Promise<Cost> {
  const start = performance.now()
  const rungs = rungsOf(source)
  const starts = listStarts(source)
  const count = starts.length - 1
  const work: (() => Promise<Cost>)[] = []
  const addVideo = (chunk: Chunk, qualities: Rung[]) => {
    if (qualities.length > 0)
      work.push(() => timed('ffmpeg', videoArgs(source, { starts, chunk, qualities, folder })))
  }
  for (const chunk of listChunks(count, { minChunks: 8, maxSegments: 5 })) {
    if (chunk.firstSegment === 0) {
      addVideo(chunk, rungs.slice(0, 1))
      addVideo(chunk, rungs.slice(1))
    } else if (chunk.firstSegment === count - 1) {
      addVideo(chunk, rungs.slice(-2))
      addVideo(chunk, rungs.slice(0, -2))
    } else addVideo(chunk, rungs)
  }
  if (source.audio !== undefined)
    for (const chunk of listChunks(count, { minChunks: 1, maxSegments: 75 }))
      work.push(() => timed('ffmpeg', audioArgs(source, { starts, chunk, folder })))
  const cost = { wall: 0, cpu: 0 }
  await inParallel(work, availableParallelism(), async (run) => {
    const { cpu } = await run()
    cost.cpu += cpu
  })
  const { path: video, audio } = source
  const mp4 = { video, audio: audio === undefined ? undefined : video, output: join(folder, 'together.mp4') }
  const { cpu } = await timed('ffmpeg', mp4Args(mp4))
  cost.cpu += cpu
  cost.wall = (performance.now() - start) / 1000
  return cost
}

function videoArgs(
  { path, width, height, rate, video: index }: Source,
  {
    starts,
    chunk: { firstSegment, segments: count },
    qualities,
    folder,
  }: { starts: number[]; chunk: Chunk; qualities: Rung[]; folder: string },
): string[] {
  const segments = Array.from({ length: count }, (_, i) => {
    const index = firstSegment + i
    return { index, fromFrame: starts[index]!, frames: starts[index + 1]! - starts[index]! }
  })
  const stream = { index, width, height, isInterlaced: false, dynamicRange: 'sdr' as const }
  const nameOf = (quality: string) => join(folder, `together-${quality}-${firstSegment}.mp4`)
  return encodeVideoArgs({
    input: { path, options: inputLimits(), stream, offsetSeconds: 0 },
    grid: { rate, frames: starts.at(-1)! },
    segments,
    outputs: qualities.map((rung) => ({ rung, path: nameOf(rung.quality) })),
    overlays: [],
    canToneMap: false,
  })
}

function audioArgs(
  { path, rate, audio }: Source,
  { starts, chunk: { firstSegment, segments }, folder }: { starts: number[]; chunk: Chunk; folder: string },
): string[] {
  const audioFrameAt = (segment: number) =>
    Math.round((starts[segment]! * rate.den * audioSampleRate) / (rate.num * frameSamples))
  const fromFrame = audioFrameAt(firstSegment)
  return encodeAudioArgs({
    input: path,
    inputOptions: inputLimits(),
    stream: audio!,
    offsetSeconds: 0,
    fromFrame,
    frames: audioFrameAt(firstSegment + segments) - fromFrame,
    output: join(folder, `together-${firstSegment}.aac`),
  })
}
