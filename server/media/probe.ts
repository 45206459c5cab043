import { stat } from 'node:fs/promises'
import { RunError, type RunResult } from '../lib/run.ts'
import { blameOf, explain, failureOf } from './failure.ts'
import type { Programs } from './ffmpeg.ts'
import { chooseRate, parseRational, plausibleRate, toNumber } from './frame-rate.ts'
import { childLimits, inputLimits, MAX_PIXELS, MAX_SIDE, watchedLimits } from './limits.ts'
import { runSandboxed } from './sandbox.ts'
import type { AudioStream, Rational, SourceMedia, VideoStream } from './source-media.ts'

export type { Rational, SourceMedia, VideoStream }

export type ProbeOptions = {
  isServed?: boolean
  signal?: AbortSignal
  cpuSeconds?: number
  idleMs?: number
}

/** The file itself cannot be read. The message is shown to the owner of the video. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable'
}

type ProbedStream = {
  index: number
  codec_type?: string
  codec_name?: string
  width?: number
  height?: number
  sample_aspect_ratio?: string
  r_frame_rate?: string
  avg_frame_rate?: string
  field_order?: string
  color_space?: string
  color_transfer?: string
  sample_rate?: string
  channels?: number
  channel_layout?: string
  start_time?: string
  time_base?: string
  disposition?: { default?: number; attached_pic?: number }
  side_data_list?: SideData[]
}

type SideData = {
  rotation?: number
  /** MaxCLL: the brightness of the brightest pixel. */
  max_content?: number
  /** The peak of the display that the video was mastered on. */
  max_luminance?: string
}

const CPU_SECONDS = 20
/** A remote store may keep ffprobe waiting. */
const IDLE_MS = 60_000
/** 30 days. A longer duration in a header is wrong. */
const MAX_DURATION_SECONDS = 30 * 86_400
/** What `readMedia` reads. */
export const MEDIA_ENTRIES = [
  'format=format_name,duration,bit_rate,start_time',
  'stream=index,codec_type,codec_name,width,height,sample_aspect_ratio,r_frame_rate,avg_frame_rate,field_order,color_space,color_transfer,sample_rate,channels,channel_layout,start_time,time_base',
  'stream_disposition=default,attached_pic',
  'stream_side_data=rotation,max_content,max_luminance',
].join(':')

const NOT_A_VIDEO = 'The file is not a video that can be read.'
const TOO_LARGE = `The frame is too large: at most ${MAX_SIDE} pixels per side and ${MAX_PIXELS} in total can be read.`

export async function probe(
  tools: Programs,
  input: string,
  options: ProbeOptions = {},
): Promise<SourceMedia> {
  if (!options.isServed && (await stat(input).catch(() => undefined))?.size === 0)
    throw new Unreadable('The file is empty.')
  const probed = await probeJson(tools, input, ['-show_entries', MEDIA_ENTRIES], options)
  return readMedia(tools, input, probed, options)
}

/** Reads the output of ffprobe for `MEDIA_ENTRIES`. */
export async function readMedia(
  tools: Programs,
  input: string,
  { output, stderr }: ProbedJson,
  options: ProbeOptions,
): Promise<SourceMedia> {
  const { format = {}, streams = [] } = output as {
    format?: { format_name?: string; duration?: string; bit_rate?: string; start_time?: string }
    streams?: ProbedStream[]
  }
  const video = chooseStream(streams, readVideoStream)
  const audio = chooseStream(streams, (stream) => readAudioStream(stream, Number(format.start_time) || 0))
  if (!video && /exceeds specified max pixel count|Picture size \S+ is invalid/.test(stderr))
    throw new Unreadable(TOO_LARGE)
  if (!video && !audio) throw new Unreadable('The file has no video or audio stream that can be read.')
  if (video && !isWithinBounds(video)) throw new Unreadable(TOO_LARGE)
  const bitrate = positive(format.bit_rate)
  const duration = positive(format.duration)
  return {
    container: format.format_name?.split(',')[0] ?? '',
    durationSeconds: duration && duration <= MAX_DURATION_SECONDS ? duration : undefined,
    bitrateKbps: bitrate && bitrate < 1e12 ? Math.max(1, Math.round(bitrate / 1000)) : undefined,
    picture: video?.dynamicRange === 'pq' ? await addPeak(video, tools, input, options) : video,
    sound: audio,
  }
}

/** The container may lack the light levels of the stream: ffmpeg 5.1 does not write those of x265 into an MP4. */
async function addPeak(
  video: VideoStream,
  tools: Programs,
  input: string,
  options: ProbeOptions,
): Promise<VideoStream> {
  if (video.peakNits !== undefined) return video
  const firstFrame = ['-select_streams', `${video.index}`, '-read_intervals', '%+#1']
  const entries = ['-show_entries', 'frame_side_data=max_content,max_luminance']
  try {
    const { output } = await probeJson(tools, input, [...firstFrame, ...entries], options)
    const { frames = [] } = output as { frames?: { side_data_list?: SideData[] }[] }
    return { ...video, ...readPeak(frames.flatMap((frame) => frame.side_data_list ?? [])) }
  } catch (error) {
    // The peak is optional. The encoder finds out whether the file can be decoded.
    if (error instanceof Unreadable) return video
    throw error
  }
}

type ProbedJson = { output: Record<string, unknown>; stderr: string }

/** Runs ffprobe within our limits. Throws `Unreadable` if the file is the cause. A `RunError` has other causes. */
export async function probeJson(
  tools: Programs,
  input: string,
  args: readonly string[],
  options: ProbeOptions,
): Promise<ProbedJson> {
  try {
    const { stdout, stderr } = await runFfprobe(tools, input, [...args, '-of', 'json=compact=1'], options)
    return { output: JSON.parse(stdout), stderr }
  } catch (error) {
    // ffprobe crashed and exited with 0.
    if (error instanceof SyntaxError) throw new Unreadable(NOT_A_VIDEO, { cause: error })
    throw error
  }
}

/** Like `probeJson`, for output in any format. With `onStdout`, the output can have any length. */
export async function runFfprobe(
  tools: Programs,
  input: string,
  args: readonly string[],
  options: ProbeOptions & { onStdout?: (text: string) => void },
): Promise<RunResult> {
  const { isServed = false, signal, cpuSeconds = CPU_SECONDS, idleMs = IDLE_MS, onStdout } = options
  const limits = { cpuSeconds }
  const argv = [tools.ffprobe, '-v', 'error', ...inputLimits({ isServed }), ...args, '-i', input]
  const [command = '', ...rest] = childLimits(argv, limits)
  try {
    return await runSandboxed(command, rest, {
      ...(signal && { signal }),
      ...(onStdout && { onStdout }),
      limits: { ...watchedLimits(limits), idleMs },
    })
  } catch (error) {
    if (signal?.aborted || !(error instanceof RunError)) throw error
    if (blameOf(error) === 'environment' || isFetchFailure(error, isServed)) throw error
    const reason = failureOf(error) === 'cpu' ? explain(error) : reasonOf(error.stderr)
    throw new Unreadable(reason, { cause: error })
  }
}

/** ffprobe could not fetch the file from our server, so its result says nothing about the file. */
function isFetchFailure({ stderr }: RunError, isServed: boolean): boolean {
  const lastLine = stderr.trimEnd().split('\n').at(-1) ?? ''
  // Some demuxers report an input/output error for a truncated file. Over HTTP it also means a truncated response.
  return isServed && /: (Connection .*|Server returned .*|Input\/output error)$/.test(lastLine)
}

function reasonOf(stderr: string): string {
  if (stderr.includes('Number of streams exceeds max_streams')) return 'The file has too many streams.'
  // If the name ends in .mp4, ffprobe reports this for any content.
  if (stderr.includes('moov atom not found'))
    return 'The file is not a video that can be read, or its end is missing.'
  return NOT_A_VIDEO
}

/** The stream that the file marks as default, otherwise the first one. */
function chooseStream<T>(
  streams: ProbedStream[],
  read: (stream: ProbedStream) => T | undefined,
): T | undefined {
  const defaultFirst = streams.toSorted((a, b) => isDefault(b) - isDefault(a))
  for (const stream of defaultFirst) {
    const found = read(stream)
    if (found) return found
  }
  return undefined
}

function isDefault(stream: ProbedStream): number {
  return stream.disposition?.default === 1 ? 1 : 0
}

const colorMatrices: Record<string, VideoStream['colorMatrix']> = {
  bt709: 'bt709',
  bt470bg: 'bt601',
  smpte170m: 'bt601',
  bt2020nc: 'bt2020',
}

function readVideoStream(stream: ProbedStream): VideoStream | undefined {
  const width = positive(stream.width)
  const height = positive(stream.height)
  // Without a size, no frame could be read.
  if (stream.codec_type !== 'video' || stream.disposition?.attached_pic || !width || !height) return undefined
  if (!stream.codec_name || stream.codec_name === 'unknown') return undefined
  const [r, average] = [parseRational(stream.r_frame_rate), parseRational(stream.avg_frame_rate)]
  const rate = chooseRate(r, average)
  const matrix = colorMatrices[stream.color_space ?? '']
  return {
    index: stream.index,
    codec: stream.codec_name,
    ...displaySize(width, height, stream),
    rate,
    sourceRate: toNumber(plausibleRate(average) ?? plausibleRate(r) ?? rate),
    ...(stream.side_data_list?.some(({ rotation }) => rotation !== undefined) && { isTurned: true }),
    isInterlaced: ['tt', 'bb', 'tb', 'bt'].includes(stream.field_order ?? ''),
    ...(matrix && { colorMatrix: matrix }),
    dynamicRange:
      stream.color_transfer === 'smpte2084' ? 'pq' : stream.color_transfer === 'arib-std-b67' ? 'hlg' : 'sdr',
    ...(stream.color_transfer === 'smpte2084' && readPeak(stream.side_data_list ?? [])),
  }
}

/** SDR white. Encoders write 0 for an unknown peak, and a lower peak is not HDR. */
const MIN_PEAK_NITS = 100
const MAX_PEAK_NITS = 10_000

/** MaxCLL takes precedence: it describes the video. Mastering metadata describes the display. */
function readPeak(sideData: SideData[]): { peakNits: number } | undefined {
  const luminances = sideData.map(({ max_luminance }) => parseRational(max_luminance))
  const declared = [
    ...sideData.map(({ max_content }) => max_content),
    ...luminances.map((each) => each && toNumber(each)),
  ]
  const peak = declared.find((nits) => nits !== undefined && nits >= MIN_PEAK_NITS)
  return peak === undefined ? undefined : { peakNits: Math.min(peak, MAX_PEAK_NITS) }
}

/** The displayed size. ffmpeg 5 and later rotate by the display matrix only and ignore a `rotate` tag. */
function displaySize(width: number, height: number, stream: ProbedStream): { width: number; height: number } {
  const aspect = parseRational(stream.sample_aspect_ratio?.replace(':', '/'))
  const stretch = aspect ? toNumber(aspect) : 1
  // Real aspect ratios are between 0.5 and 4. A header could otherwise demand frames of any size.
  const wide = stretch > 0.1 && stretch < 10 ? Math.max(1, Math.round(width * stretch)) : width
  const rotation = stream.side_data_list?.find((data) => Number.isFinite(data.rotation))?.rotation ?? 0
  const isSideways = Math.abs((Math.abs(rotation) % 180) - 90) < 1
  return isSideways ? { width: height, height: wide } : { width: wide, height }
}

function isWithinBounds({ width, height }: VideoStream): boolean {
  return width <= MAX_SIDE && height <= MAX_SIDE && width * height <= MAX_PIXELS
}

function readAudioStream(stream: ProbedStream, startSeconds: number): AudioStream | undefined {
  const sampleRate = positive(stream.sample_rate)
  const channels = positive(stream.channels)
  if (stream.codec_type !== 'audio' || !sampleRate || !channels) return undefined
  if (!stream.codec_name || stream.codec_name === 'unknown') return undefined
  const start = Number(stream.start_time)
  const isCoarse = stream.time_base === '1/1000' && Number.isFinite(start)
  return {
    index: stream.index,
    codec: stream.codec_name,
    sampleRate,
    channels,
    ...(stream.channel_layout && { layout: stream.channel_layout.slice(0, 100) }),
    ...(isCoarse && { coarseStartSeconds: start - startSeconds }),
  }
}

function positive(text: string | number | undefined): number | undefined {
  const number = Number(text)
  return Number.isFinite(number) && number > 0 ? number : undefined
}
