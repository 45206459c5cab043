import { readAdts } from './adts.ts'
import { audioFragment } from './audio-boxes.ts'
import { audioBitrate, audioChannels, audioSampleRate, frameSamples } from './audio-format.ts'

/**
 * Encoding starts at multiples of 15 AAC frames (0.32 s). That is a whole number of samples at every common rate
 * (including 44.1 kHz), of milliseconds and of microseconds. Seeking and resampling therefore round the same way in all
 * chunks, and produce the same samples.
 */
const STEP_FRAMES = 15
/** The minimum number of frames that encoder and decoder need to warm up. */
const PRE_ROLL_FRAMES = 23
/** The window of the last frame reaches one frame further, and the encoder's choice of windows one more. */
const POST_ROLL_FRAMES = 3
/** The encoder adds one frame of silence at the start: packet n decodes to input frame n - 1. */
const PRIMING_FRAMES = 1
/** Half a millisecond for each of three rounded times: of the packet, the seek and the start of the stream. */
const ROUNDING_SECONDS = 0.0015

export type AudioChunk = {
  input: string
  inputOptions: readonly string[]
  /** The index of the stream in the file. */
  stream: number
  /** As reported by ffprobe. Without them, mono becomes 3 dB quieter, and unusual layouts fail. */
  channels?: number | undefined
  layout?: string | undefined
  fromFrame: number
  frames: number
  /** Where the timeline starts, on the clock of `-ss`: in seconds after the start time of the container. */
  offsetSeconds: number
  /**
   * Where the stream starts on the same clock, if its timestamps are coarser than its samples (Matroska, WebM and FLV
   * use milliseconds). Without it, chunks of such a stream would be shifted by up to half a millisecond.
   */
  coarseStartSeconds?: number | undefined
  output: string
}

/** AAC frame k starts at sample k * 1024 of the timeline. The output has additional frames at both ends. */
export function encodeAudioArgs(chunk: AudioChunk): string[] {
  const startFrame = startFrameOf(chunk.fromFrame)
  const seekSeconds = chunk.offsetSeconds + (startFrame * frameSamples) / audioSampleRate
  const samples = (chunk.fromFrame - startFrame + chunk.frames + POST_ROLL_FRAMES) * frameSamples
  const coarseStart = chunk.coarseStartSeconds
  const filters = [
    ...(coarseStart === undefined ? [] : [refine(seekSeconds - coarseStart), 'atrim=start_pts=0']),
    ...stereoMix(chunk),
    // Timestamps decide, and gaps become silence. Without min_comp, a start within 1 ms would not be corrected.
    `aresample=${audioSampleRate}:async=1:min_comp=0:first_pts=0`,
    'aformat=sample_fmts=fltp:channel_layouts=stereo',
    'apad',
    `atrim=end_sample=${samples}`,
  ]
  return [
    ...['-hide_banner', '-nostdin', '-v', 'error', '-y'],
    ...['-threads', '1', ...chunk.inputOptions],
    // `refine` needs complete frames.
    ...(coarseStart === undefined ? [] : ['-noaccurate_seek']),
    ...(seekSeconds > 0 ? ['-ss', seekSeconds.toFixed(6)] : []),
    ...['-i', chunk.input, '-map', `0:${chunk.stream}`],
    ...['-filter_threads', '1', '-af', filters.join(',')],
    ...['-c:a', 'aac', '-b:a', String(audioBitrate), '-threads', '1', '-f', 'adts', chunk.output],
  ]
}

/** For layouts that ffmpeg does not mix to stereo, or not as expected. */
function stereoMix({
  channels = audioChannels,
  layout = '',
}: Pick<AudioChunk, 'channels' | 'layout'>): string[] {
  if (channels === 1) return ['pan=stereo|c0=c0|c1=c0']
  // W is omnidirectional, Y is left minus right. Together they are two microphones that point left and right.
  if (layout.startsWith('ambisonic')) return ['pan=stereo|c0=0.5*c0+0.5*c1|c1=0.5*c0-0.5*c1']
  // ffmpeg 5.1 cannot mix these layouts. Nearly all of them begin with left, right, center.
  if (channels > 8) return ['pan=stereo|c0=c0+0.7*c2|c1=c1+0.7*c2']
  return []
}

/**
 * Moves each frame to a multiple of its length (S) after the start of the stream, if rounding explains the difference.
 * The same frame is then at the same sample in all chunks.
 */
function refine(sinceStartSeconds: number): string {
  const elapsed = `SR*${sinceStartSeconds.toFixed(6)}`
  const multiple = `st(0,S*round((PTS+${elapsed})/S)-${elapsed})`
  return `asetpts='${multiple};if(lte(abs(ld(0)-PTS),SR*${ROUNDING_SECONDS}),round(ld(0)),PTS)'`
}

/** The number of AAC frames in the output before the first frame of the chunk. */
export function leadingFramesOf(fromFrame: number): number {
  return fromFrame - startFrameOf(fromFrame) + PRIMING_FRAMES
}

/** Cuts the encoded chunk into one fragment per segment. */
export function cutAudio(
  adts: Buffer,
  chunk: { fromFrame: number; leadingFrames: number },
  segments: readonly { fromFrame: number; frames: number }[],
): Buffer[] {
  const { frames } = readAdts(adts)
  return segments.map((segment) => {
    const from = segment.fromFrame - chunk.fromFrame + chunk.leadingFrames
    const to = from + segment.frames
    if (from < chunk.leadingFrames || to > frames.length) {
      throw new Error(`sound: frames ${from} to ${to} of a chunk that has ${frames.length}`)
    }
    const { fromFrame } = segment
    return audioFragment({ sequence: fromFrame + 1, fromFrame, frames: frames.slice(from, to) })
  })
}

function startFrameOf(fromFrame: number): number {
  return Math.max(0, Math.floor((fromFrame - PRE_ROLL_FRAMES) / STEP_FRAMES) * STEP_FRAMES)
}
