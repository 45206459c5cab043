import { LRUCache } from 'lru-cache'
import { type CopiedAudio, readCopiedAudio } from '../../media/copied-audio.ts'
import {
  type CopiedVideo,
  type FrameIndexes,
  hasFrequentKeyFrames,
  placeFrames,
  readCopiedVideo,
} from '../../media/copied-video.ts'
import { type Mp4Track, readMp4Index, type Samples } from '../../media/mp4-index.ts'
import type { Rational, SourceMedia } from '../../media/source-media.ts'
import type { SourceBytes } from './source-bytes.ts'

/** The streams of a source that can be copied. */
export type CopiedSource = {
  video: { format: CopiedVideo; samples: Samples; frames: FrameIndexes } | undefined
  audio: { format: CopiedAudio; samples: Samples } | undefined
  /** The start of the video stream, whether it can be copied or not, counted like the times of the samples. */
  videoStartSeconds: number | undefined
}

type Index = {
  tracks: (Mp4Track | undefined)[]
  /** What was derived from the tracks, for each choice of streams and frame rate. */
  copied: Map<string, CopiedSource>
}

/** Each chunk needs the index. An hour of video with audio takes 7 MB. */
const cache = new LRUCache<string, Index>({
  maxSize: 64 * 1024 * 1024,
  sizeCalculation: ({ tracks }) => tracks.reduce((sum, track) => sum + bytesOf(track), 1_000),
})

const bytesOf = (track: Mp4Track | undefined) => 1_000 + (track?.samples.count ?? 0) * 29

/** Reads the index of a source. Undefined if the source has none, or an unusual one. */
export async function readIndex(source: SourceBytes, key: string): Promise<Index | undefined> {
  const name = `${key} ${source.version}`
  const cached = cache.get(name)
  if (cached) return cached
  const tracks = await readMp4Index(source.read, source.bytes)
  const index = tracks && { tracks, copied: new Map() }
  if (index) cache.set(name, index)
  return index
}

/** Finds the streams of a source that can be copied. Undefined if the source has no index, or an unusual one. */
export async function readCopiedSource(
  source: SourceBytes,
  { key, media, rate }: { key: string; media: SourceMedia; rate: Rational },
): Promise<CopiedSource | undefined> {
  const index = await readIndex(source, key)
  if (!index) return undefined
  const name = [media.picture?.index, media.sound?.index, rate.num, rate.den].join(' ')
  const known = index.copied.get(name)
  if (known) return known
  const video = findTrack(index.tracks, 'vide', media.picture)
  const audio = findTrack(index.tracks, 'soun', media.sound)
  const copied = {
    video: video && (await readVideo(video, rate)),
    audio: audio && (await readAudio(audio)),
    videoStartSeconds: video && startOf(video),
  }
  index.copied.set(name, copied)
  return copied
}

const findTrack = (
  tracks: (Mp4Track | undefined)[],
  handler: string,
  stream: { index: number } | undefined,
) => {
  const track = stream && tracks[stream.index]
  return track?.handler === handler ? track : undefined
}

async function readVideo(track: Mp4Track, rate: Rational): Promise<CopiedSource['video']> {
  const format = hasFrequentKeyFrames(track) ? readCopiedVideo(track) : undefined
  const frames = format && (await placeFrames(track, rate))
  return frames && { format, frames, samples: track.samples }
}

async function readAudio(track: Mp4Track): Promise<CopiedSource['audio']> {
  const format = await readCopiedAudio(track)
  return format && { format, samples: track.samples }
}

/** Undefined if the edit list cuts off the start: ffmpeg may then start at another frame. */
function startOf({ samples, shown, timescale }: Mp4Track): number | undefined {
  const first = samples.times.reduce((min, time) => Math.min(min, time), Number.POSITIVE_INFINITY)
  return first < shown.from ? undefined : first / timescale
}
