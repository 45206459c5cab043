import type { PesPacket } from './pes.ts'

export type AdtsFrame = {
  /** The AudioSpecificConfig. The same object as long as it does not change. */
  config: Buffer
  sampleRate: number
  /** The frames that precede it in the same packet of the stream. */
  index: number
  data: Buffer
}

const headerBytes = 7
const rates = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
]
const maxFrameBytes = 8_191
/** Only packets of video may be longer. */
const maxPacketBytes = 65_535

/** Divides AAC with ADTS headers into frames (ISO/IEC 14496-3, 1.A.2). A frame may continue in the next packet. */
export class AdtsReader {
  #rest: Buffer = noBytes
  #config = noBytes

  /** The frame that the previous packet began is the first one, with index -1. */
  read({ data }: PesPacket): AdtsFrame[] {
    if (data.length > maxPacketBytes) return []
    const buffer = this.#rest.length > 0 ? Buffer.concat([this.#rest, data]) : data
    const frames: AdtsFrame[] = []
    let index = this.#rest.length > 0 ? -1 : 0
    let at = 0
    while (buffer.length - at >= headerBytes) {
      const frame = readFrame(buffer, at)
      if (frame === 'none') at = findSync(buffer, at + 1)
      else if (frame === 'incomplete') break
      else {
        const { config, sampleRate, data, length } = frame
        frames.push({ config: this.#keep(config), sampleRate, index: index++, data })
        at += length
      }
    }
    this.#rest = at === buffer.length ? noBytes : Buffer.from(buffer.subarray(at, at + maxFrameBytes))
    return frames
  }

  #keep(config: number): Buffer {
    if (this.#config.length === 0 || this.#config.readUInt16BE() !== config) {
      this.#config = Buffer.alloc(2)
      this.#config.writeUInt16BE(config)
    }
    return this.#config
  }
}

const noBytes = Buffer.alloc(0)

type Frame = Pick<AdtsFrame, 'sampleRate' | 'data'> & { config: number; length: number }

function readFrame(buffer: Buffer, at: number): Frame | 'none' | 'incomplete' {
  if (!isSync(buffer, at)) return 'none'
  const hasChecksum = (buffer[at + 1]! & 1) === 0
  const profile = buffer[at + 2]! >> 6
  const rateIndex = (buffer[at + 2]! >> 2) & 15
  const channels = ((buffer[at + 2]! & 1) << 2) | (buffer[at + 3]! >> 6)
  const length = (buffer.readUInt32BE(at + 3) >>> 13) & 0x1fff
  const sampleRate = rates[rateIndex]
  const start = headerBytes + (hasChecksum ? 2 : 0)
  if (sampleRate === undefined || length <= start) return 'none'
  if (buffer.length - at < length) return 'incomplete'
  const config = ((profile + 1) << 11) | (rateIndex << 7) | (channels << 3)
  return { config, sampleRate, length, data: buffer.subarray(at + start, at + length) }
}

const isSync = (buffer: Buffer, at: number) => buffer[at] === 0xff && (buffer[at + 1]! & 0xf6) === 0xf0

function findSync(buffer: Buffer, from: number): number {
  for (let at = buffer.indexOf(0xff, from); at >= 0; at = buffer.indexOf(0xff, at + 1))
    if (at + 1 >= buffer.length || isSync(buffer, at)) return at
  return buffer.length
}
