import { type H264Config, isH264Sample, readH264Config, UnsupportedStream } from '../../media/h264.ts'

/** A frame of video or audio, with times in milliseconds as the encoder sent them. */
export type Sample = {
  decodeTime: number
  /** The time of presentation after the time of decoding. */
  compositionOffset: number
  isKeyFrame: boolean
  data: Buffer
}

/** A sample on the timeline of a broadcast. */
export type TimedSample = { kind: 'video' | 'audio'; sample: Sample; atMs: number }

export type AudioConfig = {
  kind: 'aac' | 'mp3'
  /** The AudioSpecificConfig. MP3 has none. */
  record: Buffer
  sampleRate: number
  channels: number
  /** The samples of a frame. */
  frameLength: number
}

type VideoEvent = { config: H264Config } | { sample: Sample } | undefined
type AudioEvent = { config: AudioConfig } | { sample: Sample } | undefined

const enhanced = 0x80
const keyFrame = 1
const codecNames: Record<number, string> = { 2: 'Sorenson H.263', 4: 'VP6', 5: 'VP6', 12: 'HEVC' }
const fourCcNames: Record<string, string> = { hvc1: 'HEVC', av01: 'AV1', vp09: 'VP9' }

/** Reads the video messages of a stream: H.264 in the original and in the enhanced format of RTMP. */
export class VideoReader {
  #config: H264Config | undefined

  /** Undefined for a message without a frame, or with a damaged one. Throws `UnsupportedStream`. */
  read(timestamp: number, payload: Buffer): VideoEvent {
    if (payload.length < 2) return undefined
    const tag = payload[0]! & enhanced ? readEnhancedTag(payload) : readTag(payload)
    if (!tag) return undefined
    if (tag.isConfig) return this.#readConfig(tag.body)
    const config = this.#config
    if (!config || !isH264Sample(tag.body, config.lengthBytes)) return undefined
    const { compositionOffset, isKeyFrame, body } = tag
    return { sample: { decodeTime: timestamp, compositionOffset, isKeyFrame, data: body } }
  }

  #readConfig(body: Buffer): VideoEvent {
    // Encoders repeat the configuration, for instance before every key frame.
    if (this.#config?.record.equals(body)) return undefined
    this.#config = readH264Config(Buffer.from(body))
    return { config: this.#config }
  }
}

type VideoTag = { isConfig: boolean; isKeyFrame: boolean; compositionOffset: number; body: Buffer }

function readTag(payload: Buffer): VideoTag | undefined {
  const codec = payload[0]! & 15
  if (codec !== 7) throw unsupportedVideo(codecNames[codec] ?? `codec ${codec}`)
  const packetType = payload[1]!
  if (packetType > 1 || payload.length < 5) return undefined
  return {
    isConfig: packetType === 0,
    isKeyFrame: payload[0]! >> 4 === keyFrame,
    compositionOffset: readOffset(payload, 2),
    body: payload.subarray(5),
  }
}

function readEnhancedTag(payload: Buffer): VideoTag | undefined {
  const packetType = payload[0]! & 15
  const fourCc = payload.toString('latin1', 1, 5)
  if (payload.length < 5) return undefined
  if (fourCc !== 'avc1') throw unsupportedVideo(fourCcNames[fourCc] ?? JSON.stringify(fourCc))
  const isKeyFrame = ((payload[0]! >> 4) & 7) === keyFrame
  // 0: configuration, 1: frame with a composition offset, 3: frame without one.
  if (packetType === 0) return { isConfig: true, isKeyFrame, compositionOffset: 0, body: payload.subarray(5) }
  if (packetType === 3)
    return { isConfig: false, isKeyFrame, compositionOffset: 0, body: payload.subarray(5) }
  if (packetType !== 1 || payload.length < 8) return undefined
  return {
    isConfig: false,
    isKeyFrame,
    compositionOffset: readOffset(payload, 5),
    body: payload.subarray(8),
  }
}

/** A decoder keeps up to 16 frames. Larger offsets would move a frame out of the timeline. */
const maxOffsetMs = 16_000
const minOffsetMs = -5_000
const readOffset = (payload: Buffer, at: number) =>
  Math.min(maxOffsetMs, Math.max(minOffsetMs, payload.readIntBE(at, 3)))

const unsupportedVideo = (name: string) =>
  new UnsupportedStream(`The encoder sends ${name} video. Set it to H.264.`)
const unsupportedAudio = (name: string) =>
  new UnsupportedStream(`The encoder sends ${name} audio. Set it to AAC or MP3.`)

const aac = 10
const mp3Formats = new Set([2, 14])
/** Frames of AAC with 8 channels have 6 KB at most. */
const maxAudioBytes = 16 * 1024
const audioNames: Record<number, string> = { 0: 'PCM', 1: 'ADPCM', 3: 'PCM', 6: 'Nellymoser', 11: 'Speex' }

/** Reads the audio messages of a stream: AAC or MP3. */
export class AudioReader {
  #config: AudioConfig | undefined

  /** Undefined for a message without a frame, or with a damaged one. Throws `UnsupportedStream`. */
  read(timestamp: number, payload: Buffer): AudioEvent[] {
    if (payload.length < 2 || payload.length > maxAudioBytes) return []
    const format = payload[0]! >> 4
    if (mp3Formats.has(format)) return this.#readMp3(timestamp, payload.subarray(1))
    if (format !== aac) throw unsupportedAudio(audioNames[format] ?? `codec ${format}`)
    const body = payload.subarray(2)
    if (payload[1] === 0) return this.#change(readAacConfig(body))
    if (this.#config?.kind !== 'aac' || body.length === 0) return []
    return [{ sample: sampleOf(timestamp, body) }]
  }

  #readMp3(timestamp: number, body: Buffer): AudioEvent[] {
    const config = readMp3Config(body)
    if (!config) return []
    return [...this.#change(config), { sample: sampleOf(timestamp, body) }]
  }

  #change(config: AudioConfig | undefined): AudioEvent[] {
    if (!config) return []
    const known = this.#config
    const isSame =
      known?.kind === config.kind &&
      known.record.equals(config.record) &&
      known.sampleRate === config.sampleRate &&
      known.channels === config.channels
    if (isSame) return []
    this.#config = config
    return [{ config }]
  }
}

const sampleOf = (decodeTime: number, data: Buffer): Sample => ({
  decodeTime,
  compositionOffset: 0,
  isKeyFrame: true,
  data,
})

const aacRates = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
]

/** Reads an AudioSpecificConfig (ISO/IEC 14496-3). With SBR, the rate of the core is the one that counts for timing. */
function readAacConfig(record: Buffer): AudioConfig | undefined {
  if (record.length < 2) return undefined
  // The usual ones have two to seven bytes.
  if (record.length > 64) throw damagedAac()
  const bits = record.readUInt16BE()
  const rateIndex = (bits >> 7) & 15
  const channels = (bits >> 3) & 15
  const explicitRate = 15
  if (rateIndex === explicitRate && record.length >= 5) {
    const sampleRate = ((record.readUInt32BE(1) >>> 1) >>> 6) & 0xffffff
    return aacConfig(record, sampleRate, (record[4]! >> 3) & 15)
  }
  const plain = record.subarray(2).equals(noSbr) ? record.subarray(0, 2) : record
  return aacConfig(plain, aacRates[rateIndex] ?? 0, channels)
}

/**
 * Encoders may add to a configuration that there is no SBR. MPEG-TS has no room for it. Without it, the configuration is the
 * same over each protocol, so that an encoder that changes the protocol begins no other recording.
 */
const noSbr = Buffer.from([0x56, 0xe5, 0])

const damagedAac = () => new UnsupportedStream('The configuration of the AAC audio is damaged.')

function aacConfig(record: Buffer, sampleRate: number, channels: number): AudioConfig {
  if (sampleRate < 7_350 || sampleRate > 96_000 || channels < 1 || channels > 8) throw damagedAac()
  return { kind: 'aac', record: Buffer.from(record), sampleRate, channels, frameLength: 1024 }
}

/** The configuration of AAC with the same sample rate and channels (ISO/IEC 14496-3, 1.6.2.1). */
export function aacConfigFor({ sampleRate, channels }: AudioConfig): AudioConfig {
  const lowComplexity = 2
  const record = Buffer.alloc(2)
  record.writeUInt16BE((lowComplexity << 11) | (aacRates.indexOf(sampleRate) << 7) | (channels << 3))
  return { kind: 'aac', record, sampleRate, channels, frameLength: 1024 }
}

const mp3Rates = [44_100, 48_000, 32_000]

/** Reads the header of an MPEG audio frame. */
function readMp3Config(frame: Buffer): AudioConfig | undefined {
  if (frame.length < 4) return undefined
  const header = frame.readUInt32BE()
  const version = (header >> 19) & 3
  const layer = (header >> 17) & 3
  const rate = mp3Rates[(header >> 10) & 3]
  const isMp3 = header >>> 21 === 0x7ff && version !== 1 && layer === 1 && rate !== undefined
  if (!isMp3) return undefined
  const isMpeg1 = version === 3
  const isMpeg25 = version === 0
  return {
    kind: 'mp3',
    record: Buffer.alloc(0),
    sampleRate: isMpeg1 ? rate : isMpeg25 ? rate / 4 : rate / 2,
    channels: ((header >> 6) & 3) === 3 ? 1 : 2,
    frameLength: isMpeg1 ? 1152 : 576,
  }
}
