import type { Log } from '../../../lib/log.ts'
import type { Tools } from '../../../media/ffmpeg.ts'
import { UnsupportedStream } from '../../../media/h264.ts'
import { AnnexBReader } from '../../media/annex-b.ts'
import { AdtsReader } from '../../media/mpegts/adts.ts'
import { type Codec, TsDemuxer } from '../../media/mpegts/demuxer.ts'
import type { PesPacket } from '../../media/mpegts/pes.ts'
import { Converter } from '../converter.ts'
import { Interleaver, type Message } from '../interleaver.ts'
import type { Publisher } from '../publisher.ts'

const ticksPerMs = 90
/** The codecs of FLV. */
const flvCodec = { h264: 7, aac: 10 } as const
const videoHeaderBytes = 5
const audioHeaderBytes = 2
const maxStepMs = 5_000
const [keyFrame, interFrame] = [0x10, 0x20]
/** Of a payload with a configuration. */
const configType = 0
const frameType = 1
/** AAC with 44.1 kHz, 16 bits and two channels, whatever the configuration says. */
const aacHeader = (flvCodec.aac << 4) | 15

type Deps = {
  tools: Pick<Tools, 'ffmpeg'>
  log: Log
  /** The video cannot be converted. */
  onFailure(reason: string): void
}

/**
 * Publishes MPEG-TS: takes H.264 and AAC out of it, as an encoder would send them over RTMP. HEVC is encoded as H.264,
 * because not all devices play it.
 */
export class TsPublisher {
  readonly #publisher: Publisher
  readonly #deps: Deps
  readonly #demuxer: TsDemuxer
  readonly #clock = new TsClock()
  #units = new AnnexBReader()
  #adts = new AdtsReader()
  #audioConfig: Buffer | undefined
  /** For video that is not passed through. Kept when the codec changes, because it limits how often ffmpeg is started. */
  #converter: Converter | undefined
  #isConverting = false
  #convertedMs = 0
  /** Undefined if there is only one stream. */
  #interleaver: Interleaver | undefined

  constructor(publisher: Publisher, deps: Deps) {
    this.#publisher = publisher
    this.#deps = deps
    this.#demuxer = new TsDemuxer({
      onStreams: (streams) => this.#begin(streams),
      onVideo: (packet) => this.#video(packet),
      onAudio: (packet) => this.#audio(packet),
    })
  }

  /** Throws `UnsupportedStream`. */
  receive(bytes: Buffer): void {
    this.#demuxer.read(bytes)
  }

  /** A frame that is not followed by another one may be incomplete, and is left out. */
  end(): void {
    this.#converter?.close()
    this.#interleaver?.end()
  }

  #begin({ video, audio }: { video: Codec | undefined; audio: Codec | undefined }): void {
    if (video === 'other-video')
      this.#refuse('The encoder sends video with a codec that is not supported. Set it to H.264.')
    if (audio === 'other-audio')
      this.#refuse('The encoder sends audio with a codec that is not supported. Set it to AAC.')
    this.#converter?.finish()
    this.#isConverting = video === 'hevc'
    if (this.#isConverting) this.#converter ??= this.#createConverter()
    this.#units = new AnnexBReader()
    this.#adts = new AdtsReader()
    this.#audioConfig = undefined
    this.#interleaver?.end()
    const send = ({ kind, at, payload }: Message) => this.#publisher[kind](at, payload)
    this.#interleaver = video && audio ? new Interleaver(send) : undefined
    this.#publisher.metadata({
      ...(video && { videocodecid: flvCodec.h264 }),
      ...(audio && { audiocodecid: flvCodec.aac }),
    })
  }

  #send(kind: Message['kind'], at: number, payload: Buffer): void {
    if (this.#interleaver) this.#interleaver.add({ kind, at, payload })
    else this.#publisher[kind](at, payload)
  }

  #refuse(reason: string): never {
    this.#publisher.refuse?.(reason)
    throw new UnsupportedStream(reason)
  }

  #video({ times, data }: PesPacket): void {
    // A frame without a time of its own continues another one, whose end is not known.
    if (!times) return
    if (this.#converter && this.#isConverting) {
      this.#convert(this.#converter, this.#clock.read(times.presentation), data)
      return
    }
    const unit = this.#units.read(data, videoHeaderBytes)
    const at = this.#clock.read(times.decoding)
    const record = this.#units.takeRecord()
    if (record) this.#send('video', at, videoTag(keyFrame, configType, 0, record))
    if (!unit) return
    const { isKeyFrame, bytes } = unit
    const offset = this.#clock.read(times.presentation) - at
    writeVideoHeader(bytes, isKeyFrame ? keyFrame : interFrame, frameType, offset)
    this.#send('video', at, bytes)
  }

  /** A decoder begins anew when the clock of the encoder jumps. */
  #convert(converter: Converter, at: number, data: Buffer): void {
    if (Math.abs(at - this.#convertedMs) > maxStepMs) converter.finish()
    this.#convertedMs = at
    converter.write(at, isHevcKeyFrame(data), data)
  }

  #createConverter(): Converter {
    return new Converter({
      ...this.#deps,
      codec: 'hevc',
      onTag: (at, payload) => {
        if (this.#isConverting && !this.#publisher.isOver) this.#send('video', at, payload)
      },
      onFailure: (reason) => {
        this.#publisher.refuse?.(reason)
        this.#deps.onFailure(reason)
      },
    })
  }

  #audio(packet: PesPacket): void {
    const frames = this.#adts.read(packet)
    if (!packet.times) return
    for (const { config, sampleRate, index, data } of frames) {
      const ticks = packet.times.presentation + Math.round((index * 1_024 * 90_000) / sampleRate)
      const at = this.#clock.read(ticks)
      if (this.#audioConfig !== config) {
        this.#audioConfig = config
        this.#send('audio', at, audioTag(configType, config))
      }
      this.#send('audio', at, audioTag(frameType, data))
    }
  }
}

const hevcTypes = { firstKeyFrame: 16, lastKeyFrame: 23 }

/** Whether a picture begins that others do not precede (ITU-T H.265, table 7-1). */
function isHevcKeyFrame(data: Buffer): boolean {
  const startCode = Buffer.from([0, 0, 1])
  for (let at = data.indexOf(startCode); at >= 0; at = data.indexOf(startCode, at + 3)) {
    const type = ((data[at + 3] ?? 0) >> 1) & 0x3f
    if (type >= hevcTypes.firstKeyFrame && type <= hevcTypes.lastKeyFrame) return true
    // Slices of other pictures.
    if (type < hevcTypes.firstKeyFrame) return false
  }
  return false
}

function videoTag(kind: number, type: number, offset: number, body: Buffer): Buffer {
  const payload = Buffer.concat([Buffer.alloc(videoHeaderBytes), body])
  writeVideoHeader(payload, kind, type, offset)
  return payload
}

function audioTag(type: number, body: Buffer): Buffer {
  const payload = Buffer.allocUnsafe(audioHeaderBytes + body.length)
  payload[0] = aacHeader
  payload[1] = type
  body.copy(payload, audioHeaderBytes)
  return payload
}

/** The presentation may be up to 2 hours after the decoding. Readers limit it further. */
const maxOffset = 2 ** 23 - 1

function writeVideoHeader(payload: Buffer, kind: number, type: number, offset: number): void {
  payload[0] = kind | flvCodec.h264
  payload[1] = type
  payload.writeIntBE(Math.max(-maxOffset, Math.min(maxOffset, offset)), 2, 3)
}

const wrap = 2 ** 33
const rtmpWrap = 2 ** 32

/**
 * Turns times of MPEG-TS, which have 33 bits and wrap around after 26 hours, into milliseconds of RTMP, which have 32 bits.
 * Jumps of the encoder's clock remain.
 */
class TsClock {
  #last: number | undefined

  read(ticks: number): number {
    this.#last ??= ticks
    // The shorter way around.
    const step = ((((ticks - this.#last) % wrap) + wrap + wrap / 2) % wrap) - wrap / 2
    this.#last += step
    return ((Math.round(this.#last / ticksPerMs) % rtmpWrap) + rtmpWrap) % rtmpWrap
  }
}
