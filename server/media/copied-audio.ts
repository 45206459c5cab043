import { setImmediate as nextTurn } from 'node:timers/promises'
import { audioChannels, frameSamples } from './audio-format.ts'
import { boxesOf, descriptor, inside, part } from './boxes.ts'
import type { Mp4Track } from './mp4-index.ts'

/** The AAC stream of a source whose frames can be copied. */
export type CopiedAudio = {
  sampleRate: number
  /** The AudioSpecificConfig. */
  config: Buffer
  /** When the first AAC frame of the file is played, counted like the times of the samples. */
  startSeconds: number
  /** How many frames of the file are played. */
  count: number
}

const maxBitsPerSecond = 200_000
/** An AAC frame has at most 6,144 bits for each channel. One frame of a hostile file could otherwise have a gigabyte. */
const maxFrameBytes = (6_144 / 8) * audioChannels
/** Frames whose timestamps differ by more from a constant distance are not contiguous. */
const maxDeviationSeconds = 0.003
const turnSamples = 100_000

/**
 * An AAC-LC frame with two silent channels. It has no band with a coefficient, so it is valid for every sample rate.
 */
export const silentFrame = Buffer.from([0x21, 0x00, 0x49, 0x90, 0x02, 0x19, 0x00, 0x23, 0x80])

/** Undefined if the stream is no stereo AAC-LC, or if it has gaps. */
export async function readCopiedAudio(track: Mp4Track): Promise<CopiedAudio | undefined> {
  const format = readStereoAac(track)
  if (!format) return undefined
  const { samples, timescale, shown } = track
  const { times, sizes } = samples
  const frameTicks = (frameSamples * timescale) / format.sampleRate
  const first = times[0]!
  let bytes = 0
  let count = 0
  for (let i = 0; i < samples.count && times[i]! < shown.to; i++) {
    if (Math.abs(times[i]! - first - i * frameTicks) > maxDeviationSeconds * timescale) return undefined
    if (sizes[i] === 0 || sizes[i]! > maxFrameBytes) return undefined
    bytes += sizes[i]!
    count++
    if (i % turnSamples === 0) await nextTurn()
  }
  const seconds = (count * frameSamples) / format.sampleRate
  if (count === 0 || 8 * bytes > maxBitsPerSecond * seconds) return undefined
  return { ...format, startSeconds: first / timescale, count }
}

/** At most this much may be missing at the start and at the end. It becomes silence. */
const maxLateSeconds = 0.05
const maxEarlySeconds = 0.25

/**
 * The index of the first AAC frame on a grid of `frames` AAC frames that starts at `fromSeconds`. Negative if the frame comes
 * before the start of the video, and is left out. All frames are moved by the same time, at most by half a frame. Undefined
 * if too much is missing.
 */
export function placeAudio(
  { startSeconds, sampleRate, count }: CopiedAudio,
  { fromSeconds, frames }: { fromSeconds: number; frames: number },
): number | undefined {
  const frameSeconds = frameSamples / sampleRate
  const first = Math.round((startSeconds - fromSeconds) / frameSeconds)
  const missing = frames - (first + count)
  const isComplete = first * frameSeconds <= maxLateSeconds && missing * frameSeconds <= maxEarlySeconds
  return Number.isSafeInteger(first) && isComplete ? first : undefined
}

/** Undefined if the stream is no stereo AAC-LC. */
export function readStereoAac({ entry }: Mp4Track): Pick<CopiedAudio, 'sampleRate' | 'config'> | undefined {
  if (entry.type !== 'mp4a') return undefined
  try {
    const stream = descriptor(part(findEsds(entry.body), 4), 0x03)
    // None of the optional fields.
    if (part(stream, 2, 1)[0]! & 0xe0) return undefined
    const decoder = descriptor(part(stream, 3), 0x04)
    const aac = 0x40
    if (part(decoder, 0, 1)[0] !== aac) return undefined
    const config = descriptor(part(decoder, 13), 0x05)
    const sampleRate = readStereoLc(config)
    return sampleRate === undefined ? undefined : { sampleRate, config }
  } catch (error) {
    if (error instanceof RangeError || (error as Error).message.startsWith('MP4: ')) return undefined
    throw error
  }
}

/** QuickTime has a longer entry, and puts the box into another one. */
function findEsds(entry: Buffer): Buffer {
  const version = part(entry, 8, 2).readUInt16BE()
  if (version > 1) throw new Error('MP4: an unknown version of an audio entry')
  const boxes = part(entry, version === 1 ? 44 : 28)
  const direct = boxesOf(boxes).find(({ type }) => type === 'esds')
  return direct?.body ?? inside(boxes, 'wave', 'esds')
}

const sampleRates = new Map([
  [3, 48_000],
  [4, 44_100],
])

/** The sample rate of an AudioSpecificConfig (ISO/IEC 14496-3, 1.6.2.1), if it is that of stereo AAC-LC. */
export function readStereoLc(config: Buffer): number | undefined {
  if (config.length < 2) return undefined
  const bits = config.readUInt16BE(0)
  const lowComplexity = 2
  const [type, rate, channels] = [bits >> 11, (bits >> 7) & 15, (bits >> 3) & 15]
  // The last three bits: frames of 960 samples, a core coder, extensions.
  if (type !== lowComplexity || channels !== audioChannels || (bits & 7) !== 0) return undefined
  // Encoders may add explicitly that there is no spectral band replication.
  const hasNoReplication = config.length >= 5 && config.readUInt16BE(2) === 0x56e5 && config[4]! < 0x80
  return config.length === 2 || hasNoReplication ? sampleRates.get(rate) : undefined
}
