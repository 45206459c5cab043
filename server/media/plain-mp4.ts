import { audioChannels, frameSamples } from './audio-format.ts'
import { boxesOf, part } from './boxes.ts'
import { readStereoAac } from './copied-audio.ts'
import { type CopiedVideo, readCopiedVideo, videoEntryBytes } from './copied-video.ts'
import type { Extent } from './extent.ts'
import { chooseRate, toNumber } from './frame-rate.ts'
import type { Mp4Track } from './mp4-index.ts'
import type { AudioStream, SourceMedia, VideoStream } from './source-media.ts'

/**
 * Reads from the index what ffprobe would find out, which takes ten times as long. Only for the most common kind of file:
 * progressive H.264 with a constant frame rate that is shown from the start, and stereo AAC or no audio.
 */
export function readPlainMp4(
  tracks: (Mp4Track | undefined)[],
  bytes: number,
): { media: SourceMedia; extent: Extent } | undefined {
  const video = findOnly(tracks, 'vide')
  const audio = findOnly(tracks, 'soun')
  if (!video || tracks.length !== (audio ? 2 : 1)) return undefined
  const picture = readPicture(video.track, video.index)
  const sound = audio && readSound(audio.track, audio.index)
  if (!picture || (audio && !sound)) return undefined
  const videoEndSeconds = endOf(video.track, video.track.samples.ticksPerSample!)
  const audioEndSeconds =
    audio && endOf(audio.track, (frameSamples * audio.track.timescale) / sound!.sampleRate)
  const durationSeconds = Math.max(videoEndSeconds, audioEndSeconds ?? 0)
  const bitrateKbps = Math.max(1, Math.round((8 * bytes) / durationSeconds / 1_000))
  return {
    media: { container: 'mov', durationSeconds, bitrateKbps, picture, sound },
    extent: { videoStartSeconds: 0, videoEndSeconds, audioEndSeconds, isSeekable: true },
  }
}

function findOnly(tracks: (Mp4Track | undefined)[], handler: string) {
  const index = tracks.findIndex((track) => track?.handler === handler)
  return index < 0 ? undefined : { index, track: tracks[index]! }
}

/** The end of the last sample that is shown, of samples with this duration. The one at the end of the file may be shorter. */
function endOf({ samples, shown, timescale }: Mp4Track, sampleTicks: number): number {
  const { times, count, ticks, ticksPerSample } = samples
  const rest = ticksPerSample === undefined ? sampleTicks : ticks - (count - 1) * ticksPerSample
  let end = 0
  for (let i = 0; i < count; i++)
    if (times[i]! < shown.to) end = Math.max(end, times[i]! + (i === count - 1 ? rest : sampleTicks))
  return end / timescale
}

function readPicture(track: Mp4Track, index: number): VideoStream | undefined {
  const { samples, timescale, shown, entry } = track
  const format = readCopiedVideo(track)
  const { ticksPerSample, ticks, count, times, isSync } = samples
  if (!format || !ticksPerSample || ticks === 0) return undefined
  // Otherwise ffmpeg may start at another frame.
  if (times[0] !== 0 || shown.from > 0 || isSync[0] !== 1) return undefined
  const colors = readColors(format, entry.body)
  if (!colors) return undefined
  const average = { num: timescale * count, den: ticks }
  const rate = chooseRate({ num: timescale, den: ticksPerSample }, average)
  return {
    index,
    codec: 'h264',
    width: format.width,
    height: format.height,
    rate,
    sourceRate: toNumber(average),
    isInterlaced: false,
    ...colors,
    dynamicRange: 'sdr',
  }
}

function readSound(track: Mp4Track, index: number): AudioStream | undefined {
  const format = readStereoAac(track)
  if (!format) return undefined
  return { index, codec: 'aac', sampleRate: format.sampleRate, channels: audioChannels, layout: 'stereo' }
}

/** The numbers of ITU-T H.273. */
const unspecified = 2
const matrices = new Map<number, VideoStream['colorMatrix']>([
  [1, 'bt709'],
  [5, 'bt601'],
  [6, 'bt601'],
])
const hdrTransfers = [16, 18]

/** Undefined if the colors are unusual, or if the container contradicts the stream. */
function readColors({ colors }: CopiedVideo, entry: Buffer): Pick<VideoStream, 'colorMatrix'> | undefined {
  const declared = readColr(entry)
  const [stream, container] = [colors, declared].map((each) => [each?.transfer, each?.matrix].join())
  if (declared && colors && stream !== container) return undefined
  const { transfer, matrix } = colors ?? declared ?? { transfer: unspecified, matrix: unspecified }
  if (hdrTransfers.includes(transfer)) return undefined
  const colorMatrix = matrices.get(matrix)
  if (!colorMatrix && matrix !== unspecified) return undefined
  return colorMatrix ? { colorMatrix } : {}
}

function readColr(entry: Buffer): CopiedVideo['colors'] {
  const colr = boxesOf(part(entry, videoEntryBytes)).find(({ type }) => type === 'colr')?.body
  if (!colr) return undefined
  const kind = part(colr, 0, 4).toString('latin1')
  if (kind !== 'nclx' && kind !== 'nclc') return undefined
  return { transfer: part(colr, 6, 2).readUInt16BE(), matrix: part(colr, 8, 2).readUInt16BE() }
}
