import type { TsPacket } from './packets.ts'

/** In units of 1/90,000 s, with 33 bits. */
type PesTimes = { presentation: number; decoding: number }

export type PesPacket = {
  /** Undefined if the packet continues the previous one. */
  times: PesTimes | undefined
  /** A view of bytes that are overwritten afterwards. */
  data: Buffer
}

/** A key frame of 2160p has 2 MB at most. */
const maxPesBytes = 8 * 1024 * 1024
const firstBytes = 64 * 1024

/** Joins the PES packets of a stream, which each have a frame. One of which a part is missing is left out. */
export class PesReader {
  /** Allocated for the first packet: an encoder may announce other streams all the time. */
  #buffer: Buffer = Buffer.alloc(0)
  #length = 0
  /** Undefined if it ends where the next one begins. */
  #expected: number | undefined
  #isDamaged = true
  readonly #onPacket: (packet: PesPacket) => void

  constructor(onPacket: (packet: PesPacket) => void) {
    this.#onPacket = onPacket
  }

  read(packet: TsPacket): void {
    const { isStart, hasGap } = packet
    if (hasGap) this.#isDamaged = true
    if (isStart) {
      this.#end()
      this.#isDamaged = false
    }
    if (this.#isDamaged) return
    this.#append(packet)
    if (isStart) this.#readLength()
    if (this.#expected !== undefined && this.#length >= this.#expected) this.#end()
  }

  /** The packet is complete, because another one follows or because it is as long as it says. */
  #end(): void {
    if (this.#length > 0 && !this.#isDamaged) {
      const packet = readPes(this.#buffer.subarray(0, this.#expected ?? this.#length))
      if (packet && this.#length >= (this.#expected ?? 0)) this.#onPacket(packet)
    }
    this.#length = 0
    this.#expected = undefined
    this.#isDamaged = true
  }

  #append({ bytes, start, end }: TsPacket): void {
    const length = this.#length + end - start
    if (length > maxPesBytes) {
      this.#isDamaged = true
      return
    }
    if (length > this.#buffer.length) {
      const larger = Buffer.alloc(Math.min(maxPesBytes, Math.max(firstBytes, 2 * this.#buffer.length)))
      this.#buffer.copy(larger, 0, 0, this.#length)
      this.#buffer = larger
    }
    bytes.copy(this.#buffer, this.#length, start, end)
    this.#length = length
  }

  #readLength(): void {
    const length = this.#length >= 6 ? this.#buffer.readUInt16BE(4) : 0
    this.#expected = length > 0 ? 6 + length : undefined
  }
}

/** Undefined if it is damaged. */
function readPes(bytes: Buffer): PesPacket | undefined {
  const headerBytes = 9
  if (bytes.length < headerBytes || bytes.readUIntBE(0, 3) !== 1) return undefined
  const start = headerBytes + bytes[8]!
  const [hasPresentation, hasDecoding] = [(bytes[7]! & 0x80) !== 0, (bytes[7]! & 0x40) !== 0]
  const timeBytes = hasPresentation ? (hasDecoding ? 10 : 5) : 0
  if (bytes[6]! >> 6 !== 2 || start > bytes.length || bytes[8]! < timeBytes) return undefined
  const data = bytes.subarray(start)
  if (!hasPresentation) return { times: undefined, data }
  const presentation = readTime(bytes, headerBytes)
  return {
    times: { presentation, decoding: hasDecoding ? readTime(bytes, headerBytes + 5) : presentation },
    data,
  }
}

/** 33 bits in five bytes, with marker bits between them. */
const readTime = (bytes: Buffer, at: number) =>
  ((bytes[at]! >> 1) & 7) * 2 ** 30 +
  (bytes.readUInt16BE(at + 1) >> 1) * 2 ** 15 +
  (bytes.readUInt16BE(at + 3) >> 1)
