// A live WebM stream for ffmpeg: the header, and then a cluster for each frame.

/** WebM has no HEVC. Matroska, of which it is a part, does, and ffmpeg reads both. */
export type WebmCodec = 'opus' | 'vp8' | 'vp9' | 'av1' | 'hevc'

const id = {
  header: 0x1a45dfa3,
  docType: 0x4282,
  segment: 0x18538067,
  info: 0x1549a966,
  timestampScale: 0x2ad7b1,
  tracks: 0x1654ae6b,
  track: 0xae,
  trackNumber: 0xd7,
  trackUid: 0x73c5,
  trackType: 0x83,
  codecId: 0x86,
  codecPrivate: 0x63a2,
  audio: 0xe1,
  samplingFrequency: 0xb5,
  channels: 0x9f,
  video: 0xe0,
  width: 0xb0,
  height: 0xba,
  cluster: 0x1f43b675,
  timestamp: 0xe7,
  simpleBlock: 0xa3,
} as const

const codecIds = {
  opus: 'A_OPUS',
  vp8: 'V_VP8',
  vp9: 'V_VP9',
  av1: 'V_AV1',
  hevc: 'V_MPEGH/ISO/HEVC',
} as const
const unknownSize = Buffer.from([0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])
const keyFrameFlag = 0x80
const channels = 2
const sampleRate = 48_000

const track = 1
/** Decoders find the size in the frames. */
const unknownLength = 16

/** The beginning of a stream with one track. */
export const webmHeader = (codec: WebmCodec): Buffer =>
  Buffer.concat([
    element(id.header, element(id.docType, Buffer.from('webm'))),
    idBytes(id.segment),
    unknownSize,
    element(id.info, element(id.timestampScale, number(1_000_000))),
    element(id.tracks, trackEntry(codec)),
  ])

/** A frame at a time in milliseconds. */
export function webmFrame(atMs: number, isKeyFrame: boolean, data: Buffer): Buffer {
  const head = Buffer.from([0x80 | track, 0, 0, isKeyFrame ? keyFrameFlag : 0])
  return element(id.cluster, element(id.timestamp, number(atMs)), element(id.simpleBlock, head, data))
}

function trackEntry(codec: WebmCodec): Buffer {
  const isAudio = codec === 'opus'
  const rate = element(id.samplingFrequency, float(sampleRate))
  const size = [element(id.width, number(unknownLength)), element(id.height, number(unknownLength))]
  const format = isAudio
    ? [element(id.codecPrivate, opusHead()), element(id.audio, rate, element(id.channels, number(channels)))]
    : [element(id.video, ...size)]
  return element(
    id.track,
    element(id.trackNumber, number(track)),
    element(id.trackUid, number(track)),
    element(id.trackType, number(isAudio ? 2 : 1)),
    element(id.codecId, Buffer.from(codecIds[codec])),
    ...format,
  )
}

/** RFC 7845, 5.1, without samples to skip. */
function opusHead(): Buffer {
  const head = Buffer.alloc(19)
  head.write('OpusHead')
  head[8] = 1
  head[9] = channels
  head.writeUInt32LE(sampleRate, 12)
  return head
}

function element(elementId: number, ...contents: Buffer[]): Buffer {
  const content = Buffer.concat(contents)
  // All sizes have four bytes.
  const size = Buffer.alloc(4)
  size.writeUInt32BE(0x10000000 + content.length)
  return Buffer.concat([idBytes(elementId), size, content])
}

const idBytes = (elementId: number) => Buffer.from(elementId.toString(16), 'hex')

function number(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(BigInt(Math.max(0, Math.round(value))))
  const first = bytes.findIndex((byte) => byte !== 0)
  return bytes.subarray(first < 0 ? 7 : first)
}

function float(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeFloatBE(value)
  return bytes
}
