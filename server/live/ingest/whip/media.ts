import type { Log } from '../../../lib/log.ts'
import type { Tools } from '../../../media/ffmpeg.ts'
import { AnnexBReader } from '../../media/annex-b.ts'
import { joinAv1 } from '../../webrtc/av1-payload.ts'
import { FrameAssembler, type PacketizedFrame } from '../../webrtc/frame-assembler.ts'
import { joinH264 } from '../../webrtc/h264-payload.ts'
import type { RtpPacket } from '../../webrtc/rtp.ts'
import type { Track } from '../../webrtc/sdp.ts'
import { type EncodedFrame, joinVp8, joinVp9 } from '../../webrtc/vpx-payload.ts'
import { Converter } from '../converter.ts'
import { Interleaver } from '../interleaver.ts'
import type { Publisher } from '../publisher.ts'

const videoHeaderBytes = 5
const avc = 7
const [keyFrame, interFrame] = [0x10, 0x20]
const [configType, frameType] = [0, 1]
/** The configuration of AAC with 48 kHz and two channels, which is what ffmpeg makes: viewers need not wait for it. */
const aacConfig = Buffer.from([0xaf, 0, 0x11, 0x90])
const joins = { vp8: joinVp8, vp9: joinVp9, av1: joinAv1 }
/** Viewers can join, and segments can end, at key frames only. */
const keyFrameMs = 2_000
/** A request may be lost, and a frame takes its time. */
const repeatMs = 500
/** Audio waits this long for the first key frame. The camera may be off. */
const maxEarlyMs = 3_000
/** Fewer may be errors. */
const minReordered = 10

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
  readonly #audio: Converter
  /** Undefined if there is only one track. */
  readonly #interleaver: Interleaver | undefined
  /** For video that is not passed through. */
  readonly #video: Converter | undefined
  #format: string | undefined
  readonly #frames: FrameAssembler
  /** Frames depend on one that is missing. */
  #needsKeyFrame = true
  #keyFrameAtMs = Number.NEGATIVE_INFINITY
  /** The timeline of a broadcast begins with its first message, so nothing may be earlier. */
  #startMs: number | undefined
  /** The timestamp of the latest frame, and how many frames were earlier than the one before. */
  #latest: number | undefined
  #reordered = 0
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
    this.#audio = new Converter({
      ...options,
      codec: 'opus',
      onTag: (at, payload) => {
        if (at >= (this.#startMs ?? 0) && payload[1] !== configType) this.#send('audio', at, payload)
      },
    })
    const codec = tracks.find(({ kind }) => kind === 'video')?.codec
    if (codec !== undefined && codec !== 'opus' && codec !== 'h264') {
      const onTag = (at: number, payload: Buffer) => {
        this.#startMs ??= at
        this.#send('video', at, payload)
      }
      this.#video = new Converter({ ...options, codec, onTag })
      this.#frames = this.#assemble((frame) => this.#encoded(joins[codec], frame))
    } else {
      this.#frames = this.#assemble((frame) => this.#h264(frame))
    }
    publisher.metadata({ ...(hasVideo && { videocodecid: avc }), ...(hasAudio && { audiocodecid: 10 }) })
    if (hasAudio) publisher.audio(0, aacConfig)
    if (hasAudio && hasVideo)
      this.#interleaver = new Interleaver(({ kind, at, payload }) => publisher[kind](at, payload))
  }

  #assemble(onFrame: (frame: PacketizedFrame) => void): FrameAssembler {
    const onLoss = () => {
      this.#needsKeyFrame = true
    }
    return new FrameAssembler({ onFrame, onLoss })
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
    this.#audio.write(atMs, true, payload)
  }

  /** What the encoder should change. */
  get problem(): string | undefined {
    return this.#reordered >= minReordered
      ? 'The encoder sends B-frames, which WebRTC cannot transport. Turn them off, or viewers see frames in the wrong order.'
      : undefined
  }

  /** Called several times a second. */
  tick(nowMs: number): void {
    const isDue = this.#needsKeyFrame || nowMs - this.#keyFrameAtMs >= keyFrameMs
    if (!isDue || nowMs - this.#requestedAtMs < repeatMs) return
    this.#requestedAtMs = nowMs
    this.#options.requestKeyFrame()
  }

  /** What is left is published. */
  close(): void {
    this.#interleaver?.end()
    this.#audio.close()
    this.#video?.close()
  }

  #encoded(
    join: (payloads: Buffer[]) => EncodedFrame | undefined,
    { timestamp, payloads }: PacketizedFrame,
  ): void {
    const frame = join(payloads)
    if (!frame || !this.#accepts(frame.isKeyFrame)) return
    // ffmpeg encodes one size.
    if (frame.isKeyFrame && frame.format !== this.#format) this.#video?.finish()
    if (frame.isKeyFrame) this.#format = frame.format
    this.#video?.write(this.#options.timeOf('video', timestamp), frame.isKeyFrame, frame.data)
  }

  #h264({ timestamp, payloads }: PacketizedFrame): void {
    const unit = this.#units.read(joinH264(payloads), videoHeaderBytes)
    const record = this.#units.takeRecord()
    this.#watchOrder(timestamp)
    const at = this.#options.timeOf('video', timestamp)
    if (record) this.#send('video', at, videoPayload(keyFrame, configType, record))
    if (!unit) return
    const { isKeyFrame, bytes } = unit
    if (!this.#accepts(isKeyFrame)) return
    this.#startMs ??= at
    bytes[0] = (isKeyFrame ? keyFrame : interFrame) | avc
    bytes[1] = frameType
    bytes.writeIntBE(0, 2, 3)
    this.#send('video', at, bytes)
  }

  /** WebRTC has no time of decoding, so frames in another order cannot be passed through. */
  #watchOrder(timestamp: number): void {
    if (this.#latest !== undefined && ((timestamp - this.#latest) | 0) < 0) this.#reordered++
    else this.#latest = timestamp
  }

  #send(kind: Track['kind'], at: number, payload: Buffer): void {
    if (this.#interleaver) this.#interleaver.add({ kind, at, payload })
    else this.#options.publisher[kind](at, payload)
  }

  /** Whether the frame can be decoded, and the publisher takes it. */
  #accepts(isKeyFrame: boolean): boolean {
    if (isKeyFrame) {
      this.#needsKeyFrame = false
      this.#keyFrameAtMs = performance.now()
    }
    if (!this.#needsKeyFrame && this.#wait()) this.#needsKeyFrame = true
    return !this.#needsKeyFrame
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
