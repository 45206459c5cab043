import type { Context } from '../../context.ts'
import type { Files } from '../../lib/files/files.ts'
import { inParallel } from '../../lib/parallel.ts'
import { audioSampleRate } from '../../media/audio-format.ts'
import { placeAudio } from '../../media/copied-audio.ts'
import { checkKeyFrame, chooseStarts, listClosedKeyFrames } from '../../media/copied-video.ts'
import { audioSegmentOf, countSegments, type Grid, makeGrid, secondsOf, segmentOf } from '../../media/grid.ts'
import type { VideoStream } from '../../media/source-media.ts'
import type { Clip } from '../../videos/tables.ts'
import { type CopiedSource, readCopiedSource } from '../source/copied-source.ts'
import { openSourceBytes, type SourceBytes } from '../source/source-bytes.ts'
import type { EncodingPlan } from '../tables.ts'
import { type ExaminedSource, endOf } from './examine.ts'

type Deps = { config: Pick<Context['config'], 'copiesSources'> }
type PlannedVideo = { environment: string; clip: Clip | null }

/** If the video starts later, its first frame is shown until then, for which it has to be encoded. */
const maxVideoStartSeconds = 0.1
/** Each is read. A remote store answers hundreds of requests in a second, a disk ten thousands. */
const maxKeyFrames = { local: 20_000, remote: 5_000 }
const parallelReads = { local: 8, remote: 32 }

/**
 * Copies what every device plays as it is: the video as the highest quality, and the audio. In doubt, a stream is encoded. The
 * segments of a copied video begin at its key frames, and those of all other renditions at the same frames.
 */
export async function planCopies(
  deps: Deps & { files: Files },
  source: ExaminedSource,
  plan: EncodingPlan,
  video: PlannedVideo,
): Promise<EncodingPlan> {
  return planCopiesFrom(deps, () => openSourceBytes(deps.files, source.key), source, plan, video)
}

/** Like `planCopies`, for bytes that need not be in the store. */
export async function planCopiesFrom(
  { config }: Deps,
  open: () => Promise<SourceBytes>,
  source: ExaminedSource,
  plan: EncodingPlan,
  { environment, clip }: PlannedVideo,
): Promise<EncodingPlan> {
  const { key, media, content } = source
  const isExcluded =
    !config.copiesSources || environment === 'sandbox' || clip !== null || content !== undefined
  const canCopy = media.picture?.codec === 'h264' || media.sound?.codec === 'aac'
  if (isExcluded || !canCopy) return plan
  const bytes = await open()
  try {
    const copied = await readCopiedSource(bytes, { key, media, rate: plan.rate })
    if (!copied) return plan
    const withVideo = (await planVideo(copied, bytes, source, plan)) ?? plan
    return planAudio(copied, source, withVideo)
  } finally {
    await bytes.close()
  }
}

/**
 * Whether it is worth a copy of the streams into an MP4 to find out if they can be copied. What the header says must not
 * rule it out.
 */
export function mayBeCopied(
  { config }: Deps,
  { media, bytes }: ExaminedSource,
  plan: EncodingPlan,
  video: PlannedVideo,
): boolean {
  const { picture, sound } = media
  const top = plan.rungs.at(-1)!
  if (!config.copiesSources || video.environment === 'sandbox' || video.clip !== null) return false
  if (!picture || !canCopyPicture(picture, plan) || picture.codec !== 'h264') return false
  if (picture.width !== top.width || picture.height !== top.height) return false
  const kbps = (8 * bytes) / 1_000 / secondsOf(plan, plan.frames)
  if (kbps > top.maxKbps + maxAudioKbps) return false
  return !sound || (sound.codec === 'aac' && sound.channels === 2)
}

const maxAudioKbps = 300

const canCopyPicture = (picture: VideoStream, plan: EncodingPlan) =>
  !plan.isWatermarked &&
  !plan.watermark &&
  !plan.hasSeveralSizes &&
  !picture.isInterlaced &&
  !picture.isTurned &&
  picture.dynamicRange === 'sdr' &&
  picture.colorMatrix !== 'bt2020'

async function planVideo(
  { video }: CopiedSource,
  bytes: SourceBytes,
  { media, extent }: ExaminedSource,
  plan: EncodingPlan,
): Promise<EncodingPlan | undefined> {
  const { picture } = media
  const top = plan.rungs.at(-1)!
  if (!video || !picture || !canCopyPicture(picture, plan)) return undefined
  const { format, frames, samples } = video
  if (format.width !== top.width || format.height !== top.height) return undefined
  const offsetSeconds = extent.videoStartSeconds ?? 0
  if (offsetSeconds > maxVideoStartSeconds) return undefined
  const planned = makeGrid(plan.rate, endOf(media, extent) - offsetSeconds).frames
  // If the audio goes on for longer, the last frame is shown until it ends.
  if (Math.abs(planned - frames.frames) > 1) return undefined
  const grid = { rate: plan.rate, frames: Math.max(planned, frames.frames) }
  const keyFrames = await listKeyFrames(video, bytes)
  const starts = keyFrames && chooseStarts(keyFrames, grid)
  if (!starts) return undefined
  const peak = findPeak({ ...grid, starts }, video)
  const average = (8 * samples.sizes.reduce((sum, size) => sum + size, 0)) / secondsOf(grid, grid.frames)
  if (average > 1_000 * top.maxKbps || peak > 2_000 * top.maxKbps) return undefined
  const rung = { ...top, maxKbps: Math.max(top.maxKbps, Math.ceil(peak / 1_000)) }
  const rungs = [...plan.rungs.slice(0, -1), rung]
  return {
    ...plan,
    ...grid,
    offsetSeconds,
    rungs,
    starts,
    copiesVideo: true,
    copiedDelay: frames.delay,
    ...(samples.count < grid.frames && { hasGaps: true }),
  }
}

/** The frames of the grid at which a decoder can start. Undefined if that is not the first, or if the format changes. */
async function listKeyFrames(
  { format, frames, samples }: NonNullable<CopiedSource['video']>,
  { isLocal, read, has }: SourceBytes,
): Promise<number[] | undefined> {
  const store = isLocal ? 'local' : 'remote'
  const syncSamples: number[] = []
  for (let i = 0; i < samples.count; i++) if (samples.isSync[i] === 1) syncSamples.push(i)
  if (syncSamples.length > maxKeyFrames[store]) return undefined
  const instant = new Set<number>()
  let hasChanged = false
  await inParallel(syncSamples, parallelReads[store], async (sample) => {
    if (hasChanged) return
    const place = { from: samples.offsets[sample]!, size: samples.sizes[sample]! }
    // What has not arrived is expected to be the same. The plan of the complete source decides.
    if (has && !has(place.from, place.from + place.size)) return void instant.add(sample)
    const kind = await checkKeyFrame(read, place, format)
    if (kind === 'idr') instant.add(sample)
    hasChanged ||= kind === 'changed'
  })
  const closed = (await listClosedKeyFrames(samples, frames)).filter((sample) => instant.has(sample))
  return hasChanged || closed[0] !== 0 ? undefined : closed.map((sample) => frames.indexes[sample]!)
}

/** The most bits per second of any segment. */
function findPeak(
  grid: Grid & { starts: number[] },
  { samples, frames }: NonNullable<CopiedSource['video']>,
): number {
  let peak = 0
  let [segment, bytes] = [0, 0]
  const end = () => {
    peak = Math.max(peak, (8 * bytes) / secondsOf(grid, segmentOf(grid, segment).frames))
  }
  for (let i = 0; i < samples.count; i++) {
    if (frames.indexes[i] === grid.starts[segment + 1]) {
      end()
      segment++
      bytes = 0
    }
    bytes += samples.sizes[i]!
  }
  end()
  return peak
}

function planAudio(
  { audio, videoStartSeconds }: CopiedSource,
  source: ExaminedSource,
  plan: EncodingPlan,
): EncodingPlan {
  const { media, extent } = source
  if (!audio || !plan.hasSound) return plan
  const { format, samples } = audio
  // ffmpeg counts from the start of the container. The start of the video is known on both clocks.
  const start = media.picture ? videoStartSeconds : Math.max(0, format.startSeconds)
  if (start === undefined) return plan
  const fromSeconds = start - ((media.picture && extent.videoStartSeconds) ?? 0) + plan.offsetSeconds
  const grid = { ...plan, audioRate: format.sampleRate }
  const total = audioSegmentOf(grid, countSegments(grid)).fromFrame
  const firstAudioFrame = placeAudio(format, { fromSeconds, frames: total })
  if (firstAudioFrame === undefined) return plan
  return {
    ...plan,
    copiesAudio: true,
    firstAudioFrame,
    audioKbps: peakAudioKbps(samples.sizes, format.sampleRate),
    ...(format.sampleRate !== audioSampleRate && { audioRate: format.sampleRate }),
  }
}

/** Over a second. */
function peakAudioKbps(sizes: Uint32Array, sampleRate: number): number {
  const window = Math.round(sampleRate / 1024)
  let [sum, peak] = [0, 0]
  for (let i = 0; i < sizes.length; i++) {
    sum += sizes[i]! - (sizes[i - window] ?? 0)
    peak = Math.max(peak, sum)
  }
  return Math.ceil((8 * peak) / 1_000)
}
