import type { Log } from '../../../lib/log.ts'
import type { Tools } from '../../../media/ffmpeg.ts'
import { AnnexBReader } from '../../media/annex-b.ts'
import type { WebmTrack } from '../../media/webm.ts'
import { type Frame, FrameAssembler, readH264Packet } from '../../webrtc/h264-frames.ts'
import type { RtpPacket } from '../../webrtc/rtp.ts'
import type { Track } from '../../webrtc/sdp.ts'
import type { Publisher } from '../publisher.ts'
import { Converter } from './converter.ts'

const videoHeaderBytes = 5
const avc = 7
const [keyFrame, interFrame] = [0x10, 0x20]
const [configType, frameType] = [0, 1]
/** The configuration of AAC with 48 kHz and two channels, which is what ffmpeg makes: viewers need not wait for it. */
const aacConfig = Buffer.from([0xaf, 0, 0x11, 0x90])
const opusTrack: WebmTrack = { number: 1, codec: 'opus' }
/** Viewers can join, and segments can end, at key frames only. */
const keyFrameMs = 2_000
/** A request may be lost, and a frame takes its time. */
const repeatMs = 500
/** Audio waits this long for the first key frame. The camera may be off. */
const maxEarlyMs = 3_000

export type WhipMediaOptions = {
  tools: Pick<Tools, 'ffmpeg'>
  log: Log
  publisher: Publisher
  tracks: Track[]
  timeOf(kind: Track['kind'], timestamp: number): number
  requestKeyFrame(): void
  onFailure(reason: string): void
}

/** Publishes the packets of a session, which are in their order. Times are in milliseconds. */
export class WhipMedia {
  readonly #options: WhipMediaOptions
  readonly #units = new AnnexBReader()
  readonly #converter: Converter
  readonly #frames: FrameAssembler
  /** Frames depend on one that is missing. */
  #needsKeyFrame = true
  #keyFrameAtMs = Number.NEGATIVE_INFINITY
  /** The timeline of a broadcast begins with its first message, so nothing may be earlier. */
  #startMs: number | undefined
  #firstAudioMs: number | undefined
  readonly #maxEarlyMs: number
  #requestedAtMs = Number.NEGATIVE_INFINITY
  /** Until the publisher takes more. */
  #isBlocked = false

  constructor(options: WhipMediaOptions) {
    this.#options = options
    const { publisher, tracks } = options
    const hasAudio = tracks.some(({ kind }) => kind === 'audio')
    const hasVideo = tracks.some(({ kind }) => kind === 'video')
    this.#maxEarlyMs = hasVideo ? maxEarlyMs : 0
    this.#converter = new Converter({
      ...options,
      tracks: hasAudio ? [opusTrack] : [],
      publisher: {
        video: (at, payload) => publisher.video(at, payload),
        audio: (at, payload) => {
          if (at >= (this.#startMs ?? 0)) publisher.audio(at, payload)
        },
      },
    })
    this.#frames = new FrameAssembler({
      read: readH264Packet,
      onFrame: (frame) => this.#h264(frame),
      onLoss: () => {
        this.#needsKeyFrame = true
      },
    })
    publisher.metadata({ ...(hasVideo && { videocodecid: avc }), ...(hasAudio && { audiocodecid: 10 }) })
    if (hasAudio) publisher.audio(0, aacConfig)
  }

  /** May throw `UnsupportedStream`. */
  video(packet: RtpPacket, isAfterGap: boolean): void {
    this.#frames.add(packet, isAfterGap)
  }

  audio({ timestamp, payload }: RtpPacket): void {
    const atMs = this.#options.timeOf('audio', timestamp)
    this.#firstAudioMs ??= atMs
    const hasBegun = this.#startMs !== undefined || atMs - this.#firstAudioMs > this.#maxEarlyMs
    if (!hasBegun || payload.length === 0 || this.#wait()) return
    this.#startMs ??= atMs
    this.#converter.write(opusTrack, atMs, true, payload)
  }

  /** Called several times a second. */
  tick(nowMs: number): void {
    const isDue = this.#needsKeyFrame || nowMs - this.#keyFrameAtMs >= keyFrameMs
    if (!isDue || nowMs - this.#requestedAtMs < repeatMs) return
    this.#requestedAtMs = nowMs
    this.#options.requestKeyFrame()
  }

  close(): void {
    this.#converter.close()
  }

  #h264({ timestamp, data }: Frame): void {
    const unit = this.#units.read(data, videoHeaderBytes)
    const record = this.#units.takeRecord()
    const { publisher } = this.#options
    const at = Math.round(this.#options.timeOf('video', timestamp))
    if (record) publisher.video(at, videoPayload(keyFrame, configType, record))
    if (!unit) return
    const { isKeyFrame, bytes } = unit
    if (isKeyFrame) {
      this.#needsKeyFrame = false
      this.#keyFrameAtMs = performance.now()
    }
    if (this.#needsKeyFrame) return
    this.#startMs ??= at
    if (this.#wait()) {
      this.#needsKeyFrame = true
      return
    }
    bytes[0] = (isKeyFrame ? keyFrame : interFrame) | avc
    bytes[1] = frameType
    bytes.writeIntBE(0, 2, 3)
    publisher.video(at, bytes)
  }

  /** WebRTC cannot be told to wait: what arrives meanwhile is lost. */
  #wait(): boolean {
    if (this.#isBlocked) return true
    const wait = this.#options.publisher.drain?.()
    if (!wait) return false
    this.#isBlocked = true
    void wait.finally(() => {
      this.#isBlocked = false
    })
    return false
  }
}

function videoPayload(kind: number, type: number, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from([kind | avc, type, 0, 0, 0]), body])
}
