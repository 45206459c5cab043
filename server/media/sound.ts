import { readAdts } from './adts.ts'

export const soundRate = 48000
export const frameSamples = 1024

const CHANNELS = 2
const BITS_PER_SECOND = 128_000

/**
 * Chunks start to encode on multiples of 15 AAC frames (0.32 s), a whole number of samples at every usual
 * rate (44.1 kHz included), of milliseconds and of microseconds. Thus seeking and resampling round alike in
 * all chunks, and their samples are the same ones.
 */
const STEP_FRAMES = 15
/** Frames of encoder and decoder warm-up at the least. */
const PRE_ROLL_FRAMES = 23
/** The last frame's window reaches one frame further, the encoder's choice of windows one more. */
const POST_ROLL_FRAMES = 3
/** The encoder puts one frame of silence in front: packet n decodes to what went in as frame n - 1. */
const PRIMING_FRAMES = 1
/** Half a millisecond for each of three rounded times: of the packet, of the seek, of the stream's start. */
const ROUNDING_SECONDS = 0.0015

export type SoundChunk = {
  input: string
  inputOptions: readonly string[]
  /** Index of the stream in the file. */
  stream: number
  /** As ffprobe tells them; without them mono comes out 3 dB lower, and what has no usual layout fails. */
  channels?: number | undefined
  layout?: string | undefined
  fromFrame: number
  frames: number
  /** Where the timeline starts, as `-ss` counts: in seconds after the start time of the container. */
  offsetSeconds: number
  /**
   * Where the stream starts on the same clock, if its timestamps are coarser than its samples (Matroska, WebM and
   * FLV count milliseconds). Without it, chunks of such a stream join with a shift of up to half a millisecond.
   */
  coarseStartSeconds?: number | undefined
  output: string
}

/** AAC frame k holds the samples from k * 1024 of the timeline on. The chunk comes with more at both ends. */
export function soundChunkArgs(chunk: SoundChunk): string[] {
  const startFrame = startFrameOf(chunk.fromFrame)
  const seekSeconds = chunk.offsetSeconds + (startFrame * frameSamples) / soundRate
  const samples = (chunk.fromFrame - startFrame + chunk.frames + POST_ROLL_FRAMES) * frameSamples
  const coarseStart = chunk.coarseStartSeconds
  const filters = [
    ...(coarseStart === undefined ? [] : [refine(seekSeconds - coarseStart), 'atrim=start_pts=0']),
    ...stereoMix(chunk),
    // Timestamps decide: what is missing becomes silence. min_comp, or a start within 1 ms would be left as is.
    `aresample=${soundRate}:async=1:min_comp=0:first_pts=0`,
    'aformat=sample_fmts=fltp:channel_layouts=stereo',
    'apad',
    `atrim=end_sample=${samples}`,
  ]
  return [
    ...['-hide_banner', '-nostdin', '-v', 'error', '-y'],
    ...['-threads', '1', ...chunk.inputOptions],
    // To refine, frames have to arrive whole.
    ...(coarseStart === undefined ? [] : ['-noaccurate_seek']),
    ...(seekSeconds > 0 ? ['-ss', seekSeconds.toFixed(6)] : []),
    ...['-i', chunk.input, '-map', `0:${chunk.stream}`],
    ...['-filter_threads', '1', '-af', filters.join(',')],
    ...['-c:a', 'aac', '-b:a', String(BITS_PER_SECOND), '-threads', '1', '-f', 'adts', chunk.output],
  ]
}

/** For what ffmpeg does not mix to stereo by itself, or not as one would expect. */
function stereoMix({ channels = CHANNELS, layout = '' }: Pick<SoundChunk, 'channels' | 'layout'>): string[] {
  if (channels === 1) return ['pan=stereo|c0=c0|c1=c0']
  // All around, and left minus right: together two microphones that look left and right.
  if (layout.startsWith('ambisonic')) return ['pan=stereo|c0=0.5*c0+0.5*c1|c1=0.5*c0-0.5*c1']
  // No layout that ffmpeg 5.1 can mix; nearly all begin with left, right, centre.
  if (channels > 8) return ['pan=stereo|c0=c0+0.7*c2|c1=c1+0.7*c2']
  return []
}

/**
 * Puts each frame where whole frames of its length (S) from the start of the stream on lead to, if that is within
 * what rounding explains: the same frame is then at the same sample in all chunks.
 */
function refine(sinceStartSeconds: number): string {
  const passed = `SR*${sinceStartSeconds.toFixed(6)}`
  const whole = `st(0,S*round((PTS+${passed})/S)-${passed})`
  return `asetpts='${whole};if(lte(abs(ld(0)-PTS),SR*${ROUNDING_SECONDS}),round(ld(0)),PTS)'`
}

/** How many AAC frames at the head of a chunk's output are not the chunk's. */
export function dropOf(fromFrame: number): number {
  return fromFrame - startFrameOf(fromFrame) + PRIMING_FRAMES
}

/** The fragments of the given segments, all of which lie in the chunk. */
export function cutSound(
  adts: Buffer,
  chunk: { fromFrame: number; drop: number },
  segments: readonly { fromFrame: number; frames: number }[],
): Buffer[] {
  const { frames } = readAdts(adts)
  return segments.map((segment) => {
    const from = segment.fromFrame - chunk.fromFrame + chunk.drop
    const to = from + segment.frames
    if (from < chunk.drop || to > frames.length) {
      throw new Error(`sound: frames ${from} to ${to} of a chunk that has ${frames.length}`)
    }
    const { fromFrame } = segment
    return soundFragment({ sequence: fromFrame + 1, fromFrame, frames: frames.slice(from, to) })
  })
}

/** The CMAF init segment, the same for all chunks. */
export function soundInit(config: Buffer): Buffer {
  const stsd = full('stsd', 0, 0, u32(1), soundEntry(config))
  const empty = [full('stts', 0, 0, u32(0)), full('stsc', 0, 0, u32(0)), full('stsz', 0, 0, u32(0, 0))]
  const stbl = box('stbl', stsd, ...empty, full('stco', 0, 0, u32(0)))
  const dinf = box('dinf', full('dref', 0, 0, u32(1), full('url ', 0, 1)))
  const minf = box('minf', full('smhd', 0, 0, u16(0, 0)), dinf, stbl)
  const mdhd = full('mdhd', 0, 0, u32(0, 0, soundRate, 0), u16(UNDETERMINED, 0))
  const hdlr = full('hdlr', 0, 0, u32(0), text('soun'), u32(0, 0, 0), text('sound\0'))
  const matrix = u32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
  const mvhd = full(
    'mvhd',
    0,
    0,
    u32(0, 0, 1000, 0, 0x10000),
    u16(0x100, 0),
    u32(0, 0),
    matrix,
    u32(0, 0, 0, 0, 0, 0, 2),
  )
  // Flags 3: the track is on and part of the presentation.
  const tkhd = full('tkhd', 0, 3, u32(0, 0, TRACK, 0, 0, 0, 0), u16(0, 1, 0x100, 0), matrix, u32(0, 0))
  const trak = box('trak', tkhd, box('mdia', mdhd, hdlr, minf))
  const mvex = box('mvex', full('trex', 0, 0, u32(TRACK, 1, frameSamples, 0, SYNC_SAMPLE)))
  const ftyp = box('ftyp', text('iso6'), u32(0), text('iso6cmfcmp41'))
  return Buffer.concat([ftyp, box('moov', mvhd, trak, mvex)])
}

/** One CMAF fragment. Sequence numbers only have to grow. */
export function soundFragment(fragment: {
  sequence: number
  fromFrame: number
  frames: readonly Buffer[]
}): Buffer {
  const { sequence, fromFrame, frames } = fragment
  const decodeTime = Buffer.alloc(8)
  decodeTime.writeBigUInt64BE(BigInt(fromFrame) * BigInt(frameSamples))
  // Offsets count from the moof; the defaults of duration and flags are given.
  const tfhd = full('tfhd', 0, 0x020028, u32(TRACK, frameSamples, SYNC_SAMPLE))
  const tfdt = full('tfdt', 1, 0, decodeTime)
  const sizes = u32(...frames.map((frame) => frame.length))
  const moofWith = (dataOffset: number) =>
    box(
      'moof',
      full('mfhd', 0, 0, u32(sequence)),
      box('traf', tfhd, tfdt, full('trun', 0, 0x000201, u32(frames.length, dataOffset), sizes)),
    )
  const headBytes = moofWith(0).length + 8
  return Buffer.concat([moofWith(headBytes), box('mdat', ...frames)])
}

const TRACK = 1
/** Depends on no other sample. */
const SYNC_SAMPLE = 0x02000000
/** The language 'und': three letters of five bits. */
const UNDETERMINED = 0x55c4

function soundEntry(config: Buffer): Buffer {
  const descriptor = (tag: number, ...parts: Buffer[]) => {
    const body = Buffer.concat(parts)
    return Buffer.concat([Buffer.from([tag, body.length]), body])
  }
  // 0x40 is AAC, 0x15 an audio stream; then three bytes of buffer size, unknown.
  const aac = Buffer.from([0x40, 0x15, 0, 0, 0])
  const decoder = descriptor(4, aac, u32(BITS_PER_SECOND, BITS_PER_SECOND), descriptor(5, config))
  const esds = full(
    'esds',
    0,
    0,
    descriptor(3, Buffer.from([0, 0, 0]), decoder, descriptor(6, Buffer.from([2]))),
  )
  return box('mp4a', u16(0, 0, 0, 1), u32(0, 0), u16(CHANNELS, 16, 0, 0, soundRate, 0), esds)
}

function box(type: string, ...parts: Buffer[]): Buffer {
  const size = parts.reduce((sum, part) => sum + part.length, 8)
  return Buffer.concat([u32(size), text(type), ...parts], size)
}

function full(type: string, version: number, flags: number, ...parts: Buffer[]): Buffer {
  return box(type, u32(version * 0x1000000 + flags), ...parts)
}

function u32(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4)
  for (const [at, value] of values.entries()) bytes.writeUInt32BE(value, at * 4)
  return bytes
}

function u16(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2)
  for (const [at, value] of values.entries()) bytes.writeUInt16BE(value, at * 2)
  return bytes
}

function text(value: string): Buffer {
  return Buffer.from(value, 'latin1')
}

function startFrameOf(fromFrame: number): number {
  return Math.max(0, Math.floor((fromFrame - PRE_ROLL_FRAMES) / STEP_FRAMES) * STEP_FRAMES)
}
