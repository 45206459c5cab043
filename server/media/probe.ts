import { stat } from 'node:fs/promises'
import type { Picture, Rational, Sound, SourceMedia } from '../contracts/tables.ts'
import { RunError } from '../lib/run.ts'
import type { Programs } from './ffmpeg.ts'
import { childLimits, inputLimits, MAX_PIXELS, MAX_SIDE } from './limits.ts'
import { runSandboxed } from './sandbox.ts'

export type { Picture, Rational, Sound, SourceMedia }

export type ProbeOptions = { isServed?: boolean; signal?: AbortSignal; timeoutMs?: number }

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
  side_data_list?: { rotation?: number }[]
}

const TIMEOUT_MS = 20_000
/** 30 days. Beyond it a header lies. */
const MAX_DURATION_SECONDS = 30 * 86_400
const ENTRIES = [
  'format=format_name,duration,bit_rate,start_time',
  'stream=index,codec_type,codec_name,width,height,sample_aspect_ratio,r_frame_rate,avg_frame_rate,field_order,color_transfer,sample_rate,channels,channel_layout,start_time,time_base',
  'stream_disposition=default,attached_pic',
  'stream_side_data=rotation',
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
    picture,
    sound,
  }
}

/** Runs ffprobe within our limits. Throws `Unreadable` for what is the file's fault, and anything else as it came. */
export async function askFfprobe(
  tools: Programs,
  input: string,
  args: readonly string[],
  options: ProbeOptions,
): Promise<{ answer: Record<string, unknown>; stderr: string }> {
  const { isServed = false, signal, timeoutMs = TIMEOUT_MS } = options
  const limit = AbortSignal.timeout(timeoutMs)
  const [command, ...rest] = childLimits(
    [
      tools.ffprobe,
      '-v',
      'error',
      ...inputLimits({ isServed }),
      ...args,
      '-of',
      'json=compact=1',
      '-i',
      input,
    ],
    { cpuSeconds: timeoutMs / 1000 },
  )
  try {
    const { stdout, stderr } = await runSandboxed(command!, rest, {
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    })
    return { answer: JSON.parse(stdout), stderr }
  } catch (error) {
    if (signal?.aborted) throw error
    if (limit.aborted)
      throw new Unreadable('The file could not be read in reasonable time.', { cause: error })
    // Not JSON: a crash in the middle that exited with 0.
    if (error instanceof SyntaxError) throw new Unreadable(NOT_A_VIDEO, { cause: error })
    if (!(error instanceof RunError) || isOurFault(error, isServed)) throw error
    throw new Unreadable(reasonOf(error.stderr), { cause: error })
  }
}

/** ffprobe is not there, or the input could not be opened or fetched: nothing is known of the file then. */
function isOurFault({ exitCode, signal, stderr }: RunError, isServed: boolean): boolean {
  // 126 and 127 are prlimit's, for a command that it cannot start.
  const hasStarted = signal !== null || (exitCode !== null && exitCode < 126)
  const lastLine = stderr.trimEnd().split('\n').at(-1) ?? ''
  return (
    !hasStarted ||
    /: (No such file or directory|Permission denied|Is a directory|Too many open files)$/.test(lastLine) ||
    // Some demuxers say the last one of a file that is cut off; over HTTP it is also an answer that is cut off.
    (isServed && /: (Connection .*|Server returned .*|Input\/output error)$/.test(lastLine))
  )
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
  }
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
