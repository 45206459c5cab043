import { stat } from 'node:fs/promises'
import { RunError, type RunResult } from '../lib/run.ts'
import { blameOf, explain, failureOf } from './failure.ts'
import type { Programs } from './ffmpeg.ts'
import { childLimits, inputLimits, MAX_PIXELS, MAX_SIDE, watchedLimits } from './limits.ts'
import { runSandboxed } from './sandbox.ts'
import type { Picture, Rational, Sound, SourceMedia } from './source-media.ts'

export type { Picture, Rational, Sound, SourceMedia }

export type ProbeOptions = {
  isServed?: boolean
  signal?: AbortSignal
  cpuSeconds?: number
  idleMs?: number
}

/** The file's fault. The message is for the owner of the video. */
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
  /** MaxCLL: the brightest pixel of the video. */
  max_content?: number
  /** Of the display that the video was mastered on. */
  max_luminance?: string
}

const CPU_SECONDS = 20
/** For a file in a store elsewhere, which may keep ffprobe waiting. */
const IDLE_MS = 60_000
/** 30 days. Beyond it a header lies. */
const MAX_DURATION_SECONDS = 30 * 86_400
const ENTRIES = [
  'format=format_name,duration,bit_rate,start_time',
  'stream=index,codec_type,codec_name,width,height,sample_aspect_ratio,r_frame_rate,avg_frame_rate,field_order,color_transfer,sample_rate,channels,channel_layout,start_time,time_base',
  'stream_disposition=default,attached_pic',
  'stream_side_data=rotation,max_content,max_luminance',
].join(':')

const NOT_A_VIDEO = 'The file is not a video that can be read.'
const TOO_LARGE = `The picture is too large: at most ${MAX_SIDE} pixels a side and ${MAX_PIXELS} in all can be read.`

export async function probe(
  tools: Programs,
  input: string,
  options: ProbeOptions = {},
): Promise<SourceMedia> {
  if (!options.isServed && (await stat(input).catch(() => undefined))?.size === 0)
    throw new Unreadable('The file is empty.')
  const { answer, stderr } = await askFfprobe(tools, input, ['-show_entries', ENTRIES], options)
  const { format = {}, streams = [] } = answer as {
    format?: { format_name?: string; duration?: string; bit_rate?: string; start_time?: string }
    streams?: ProbedStream[]
  }
  const picture = choose(streams, toPicture)
  const sound = choose(streams, (stream) => toSound(stream, Number(format.start_time) || 0))
  if (!picture && /exceeds specified max pixel count|Picture size \S+ is invalid/.test(stderr))
    throw new Unreadable(TOO_LARGE)
  if (!picture && !sound) throw new Unreadable('The file has neither a picture nor a sound that can be read.')
  if (picture && !isWithinBounds(picture)) throw new Unreadable(TOO_LARGE)
  const bitrate = positive(format.bit_rate)
  const duration = positive(format.duration)
  return {
    container: format.format_name?.split(',')[0] ?? '',
    durationSeconds: duration && duration <= MAX_DURATION_SECONDS ? duration : undefined,
    bitrateKbps: bitrate && bitrate < 1e12 ? Math.max(1, Math.round(bitrate / 1000)) : undefined,
    picture: picture?.dynamicRange === 'pq' ? await withPeak(picture, tools, input, options) : picture,
    sound,
  }
}

/** Containers need not repeat the light levels of the stream: ffmpeg 5.1 writes those of x265 into no MP4. */
async function withPeak(
  picture: Picture,
  tools: Programs,
  input: string,
  options: ProbeOptions,
): Promise<Picture> {
  if (picture.peakNits !== undefined) return picture
  const first = ['-select_streams', `${picture.index}`, '-read_intervals', '%+#1']
  const entries = ['-show_entries', 'frame_side_data=max_content,max_luminance']
  try {
    const { answer } = await askFfprobe(tools, input, [...first, ...entries], options)
    const { frames = [] } = answer as { frames?: { side_data_list?: SideData[] }[] }
    return { ...picture, ...readPeak(frames.flatMap((frame) => frame.side_data_list ?? [])) }
  } catch (error) {
    // The peak is optional. Whether the file can be decoded shows when it is encoded.
    if (error instanceof Unreadable) return picture
    throw error
  }
}

/**
 * Runs ffprobe within our limits. Throws `Unreadable` for what is the file's fault, and anything else as it came: a
 * `RunError` is then the fault of the environment.
 */
export async function askFfprobe(
  tools: Programs,
  input: string,
  args: readonly string[],
  options: ProbeOptions,
): Promise<{ answer: Record<string, unknown>; stderr: string }> {
  try {
    const { stdout, stderr } = await runFfprobe(tools, input, [...args, '-of', 'json=compact=1'], options)
    return { answer: JSON.parse(stdout), stderr }
  } catch (error) {
    // Not JSON: a crash in the middle that exited with 0.
    if (error instanceof SyntaxError) throw new Unreadable(NOT_A_VIDEO, { cause: error })
    throw error
  }
}

/** Like `askFfprobe`, for answers of any form; with `onStdout` also of any length. */
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

/** A file that is served could not be fetched: nothing is known of it then. */
function isFetchFailure({ stderr }: RunError, isServed: boolean): boolean {
  const lastLine = stderr.trimEnd().split('\n').at(-1) ?? ''
  // Some demuxers say the last one of a file that is cut off; over HTTP it is also an answer that is cut off.
  return isServed && /: (Connection .*|Server returned .*|Input\/output error)$/.test(lastLine)
}

function reasonOf(stderr: string): string {
  if (stderr.includes('Number of streams exceeds max_streams')) return 'The file has too many streams.'
  // Where a name ends in .mp4, ffprobe says so of any bytes.
  if (stderr.includes('moov atom not found'))
    return 'The file is not a video that can be read, or its end is missing.'
  return NOT_A_VIDEO
}

/** The stream that the file marks as its default, else the first one. */
function choose<T>(streams: ProbedStream[], read: (stream: ProbedStream) => T | undefined): T | undefined {
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

function toPicture(stream: ProbedStream): Picture | undefined {
  const width = positive(stream.width)
  const height = positive(stream.height)
  // A picture without a size had no frame that could be read.
  if (stream.codec_type !== 'video' || stream.disposition?.attached_pic || !width || !height) return undefined
  if (!stream.codec_name || stream.codec_name === 'unknown') return undefined
  const [r, average] = [rational(stream.r_frame_rate), rational(stream.avg_frame_rate)]
  const rate = chooseRate(r, average)
  return {
    index: stream.index,
    codec: stream.codec_name,
    ...displaySize(width, height, stream),
    rate,
    sourceRate: value(plausible(average) ?? plausible(r) ?? rate),
    ...(stream.side_data_list?.some(({ rotation }) => rotation !== undefined) && { isTurned: true }),
    isInterlaced: ['tt', 'bb', 'tb', 'bt'].includes(stream.field_order ?? ''),
    dynamicRange:
      stream.color_transfer === 'smpte2084' ? 'pq' : stream.color_transfer === 'arib-std-b67' ? 'hlg' : 'sdr',
    ...(stream.color_transfer === 'smpte2084' && readPeak(stream.side_data_list ?? [])),
  }
}

/** SDR white. Encoders that know no peak write 0, and less than this is no HDR. */
const MIN_PEAK_NITS = 100
const MAX_PEAK_NITS = 10_000

/** MaxCLL before mastering metadata: it describes the video, not the display that the video was mastered on. */
function readPeak(sideData: SideData[]): { peakNits: number } | undefined {
  const luminances = sideData.map(({ max_luminance }) => rational(max_luminance))
  const declared = [
    ...sideData.map(({ max_content }) => max_content),
    ...luminances.map((each) => each && value(each)),
  ]
  const peak = declared.find((nits) => nits !== undefined && nits >= MIN_PEAK_NITS)
  return peak === undefined ? undefined : { peakNits: Math.min(peak, MAX_PEAK_NITS) }
}

/** As ffmpeg shows it: from version 5 on it turns by the display matrix alone, a `rotate` tag has no effect. */
function displaySize(width: number, height: number, stream: ProbedStream): { width: number; height: number } {
  const aspect = rational(stream.sample_aspect_ratio?.replace(':', '/'))
  const stretch = aspect ? value(aspect) : 1
  // Real ones lie between 0.5 and 4; a header that claims more would ask for a picture of any size.
  const wide = stretch > 0.1 && stretch < 10 ? Math.max(1, Math.round(width * stretch)) : width
  const rotation = stream.side_data_list?.find((data) => Number.isFinite(data.rotation))?.rotation ?? 0
  const isOnItsSide = Math.abs((Math.abs(rotation) % 180) - 90) < 1
  return isOnItsSide ? { width: height, height: wide } : { width: wide, height }
}

function isWithinBounds({ width, height }: Picture): boolean {
  return width <= MAX_SIDE && height <= MAX_SIDE && width * height <= MAX_PIXELS
}

function toSound(stream: ProbedStream, startSeconds: number): Sound | undefined {
  const sampleRate = positive(stream.sample_rate)
  const channels = positive(stream.channels)
  if (stream.codec_type !== 'audio' || !sampleRate || !channels) return undefined
  if (!stream.codec_name || stream.codec_name === 'unknown') return undefined
  const start = Number(stream.start_time)
  const isCoarse = stream.time_base === '1/1000' && Number.isFinite(start)
  return {
    ...{ index: stream.index, codec: stream.codec_name, sampleRate, channels },
    ...(stream.channel_layout && { layout: stream.channel_layout.slice(0, 100) }),
    ...(isCoarse && { coarseStartSeconds: start - startSeconds }),
  }
}

const STANDARD_RATES: Rational[] = [
  ...[24, 30, 60].map((rate) => ({ num: rate * 1000, den: 1001 })),
  ...[24, 25, 30, 48, 50, 60].map((rate) => ({ num: rate, den: 1 })),
]
const MAX_RATE = 60
/** Unknown rates come from browsers and phones, which record at 30. */
const UNKNOWN_RATE: Rational = { num: 30, den: 1 }

/**
 * `r` is the rate at which each timestamp of the probed frames has a place: the true rate of a constant source, but
 * the field rate of an interlaced one and a time base when times are irregular. The average is over the whole file.
 */
export function chooseRate(r: Rational | undefined, average: Rational | undefined): Rational {
  const told = plausible(average) ?? plausible(r)
  if (!told) return UNKNOWN_RATE
  // A rate of 60.02 is one of 60 with badly kept time, not one of 30.
  const divisor = Math.ceil(value(told) / MAX_RATE - 0.01)
  const wanted = value(told) / Math.max(1, divisor)
  const nearest = STANDARD_RATES.reduce((a, b) => (off(b, wanted) < off(a, wanted) ? b : a))
  // Closer than half of what lies between 24 and 23.976: the same rate, told in other numbers (2997/100).
  if (off(nearest, wanted) < 0.0005) return nearest
  const base = plausible(r)
  if (base && off(base, value(told)) < 0.02)
    return bounded({ num: base.num, den: base.den * Math.max(1, divisor) })
  // Frames are left out where nothing moves (recorders of screens): where it moves, all of them are needed. Half of
  // the rate is that of fields, or of times that are off by a bit.
  const isFull = STANDARD_RATES.some((rate) => base && off(rate, value(base)) < 0.0005)
  if (
    base &&
    isFull &&
    value(base) > value(told) &&
    value(base) < 6 * value(told) &&
    off(base, 2 * value(told)) > 0.02
  )
    return bounded(base)
  // Irregular: upward rather than down, for a frame shown twice is seen less than one that is missing.
  const near = STANDARD_RATES.filter((rate) => value(rate) > wanted * 0.95 && value(rate) < wanted * 1.25)
  if (near.length > 0) return near.reduce((a, b) => (off(b, wanted) < off(a, wanted) ? b : a))
  return bounded({ num: Math.round(wanted), den: 1 })
}

/** Time bases (1000, 90000) are no rates. */
function plausible(rate: Rational | undefined): Rational | undefined {
  return rate && value(rate) > 0 && value(rate) <= 960 ? rate : undefined
}

/** Lowest terms, and small ones, because a time scale is made from them. */
function bounded(rate: Rational): Rational {
  const inRange = Math.min(MAX_RATE, Math.max(1, value(rate)))
  const isExact = inRange === value(rate)
  const divisor = greatestCommonDivisor(rate.num, rate.den)
  if (isExact && rate.den / divisor <= 1001) return { num: rate.num / divisor, den: rate.den / divisor }
  const num = Math.round(inRange * 1000)
  const common = greatestCommonDivisor(num, 1000)
  return { num: num / common, den: 1000 / common }
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b)
}

function off(rate: Rational, wanted: number): number {
  return Math.abs(value(rate) / wanted - 1)
}

function value(rate: Rational): number {
  return rate.num / rate.den
}

function rational(text: string | undefined): Rational | undefined {
  const [num, den] = (text ?? '').split('/').map(Number)
  if (!Number.isSafeInteger(num) || !Number.isSafeInteger(den) || num! <= 0 || den! <= 0) return undefined
  return { num: num!, den: den! }
}

function positive(told: string | number | undefined): number | undefined {
  const number = Number(told)
  return Number.isFinite(number) && number > 0 ? number : undefined
}
