import { LRUCache } from 'lru-cache'
import { type CopiedAudio, readCopiedAudio } from '../media/copied-audio.ts'
import { type CopiedVideo, type FrameIndexes, placeFrames, readCopiedVideo } from '../media/copied-video.ts'
import { type Mp4Track, readMp4Index, type Samples } from '../media/mp4-index.ts'
import type { Rational, SourceMedia } from '../media/source-media.ts'
import type { SourceBytes } from './source-bytes.ts'

/** The streams of a source that can be copied. */
export type CopiedSource = {
  video: { format: CopiedVideo; samples: Samples; frames: FrameIndexes } | undefined
  audio: { format: CopiedAudio; samples: Samples } | undefined
  /** The start of the video stream, whether it can be copied or not, counted like the times of the samples. */
  videoStartSeconds: number | undefined
}

/** Each chunk needs the index. An hour of video with audio takes 6 MB. */
const cache = new LRUCache<string, CopiedSource>({
  maxSize: 64 * 1024 * 1024,
  sizeCalculation: ({ video, audio }) => bytesOf(video?.samples) + bytesOf(audio?.samples),
})

const bytesOf = (samples: Samples | undefined) => 1_000 + (samples?.count ?? 0) * 25

/** Reads the index of a source. Undefined if the source has none, or an unusual one. */
export async function readCopiedSource(
  source: SourceBytes,
  options: { key: string; media: SourceMedia; rate: Rational },
): Promise<CopiedSource | undefined> {
  const { key, media, rate } = options
  const name = [key, source.version, rate.num, rate.den].join(' ')
  const cached = cache.get(name)
  if (cached) return cached
  const wanted = [media.picture?.index, media.sound?.index]
  const tracks = await readMp4Index(source.read, source.bytes, (track) => wanted.includes(track))
  if (!tracks) return undefined
  const video = findTrack(tracks, 'vide', media.picture)
  const audio = findTrack(tracks, 'soun', media.sound)
  const copied = {
    video: video && (await readVideo(video, rate)),
    audio: audio && (await readAudio(audio)),
    videoStartSeconds: video && startOf(video),
  }
  cache.set(name, copied)
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
  const format = readCopiedVideo(track)
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
