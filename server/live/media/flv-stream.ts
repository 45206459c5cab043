/** A tag of an FLV file. Its payload is that of an RTMP message. */
export type FlvTag = { type: number; timestamp: number; payload: Buffer }

export const flvTagType = { audio: 8, video: 9 } as const

const headerLength = 9
const tagHeaderLength = 11
/** The length of the previous tag follows the header and every tag. */
const trailerLength = 4
const maxTagBytes = 8 * 1024 * 1024

/** Reads tags from an FLV stream whose bytes may be split anywhere. */
export class FlvStream {
  #parts: Buffer[] = []
  #length = 0
  #needed = headerLength + trailerLength
  #hasHeader = false

  /** Returns the tags that the bytes complete. */
  read(bytes: Buffer): FlvTag[] {
    this.#parts.push(bytes)
    this.#length += bytes.length
    if (this.#length < this.#needed) return []
    const buffer = Buffer.concat(this.#parts)
    const { at, tags } = this.#readTags(buffer)
    this.#parts = [buffer.subarray(at)]
    this.#length = buffer.length - at
    return tags
  }

  /** Reads all complete tags of the buffer, and sets the number of bytes that the next one needs. */
  #readTags(buffer: Buffer): { at: number; tags: FlvTag[] } {
    const tags: FlvTag[] = []
    let at = 0
    if (!this.#hasHeader) {
      if (buffer.toString('latin1', 0, 3) !== 'FLV') throw new Error('FLV: the header is missing')
      this.#hasHeader = true
      at = headerLength + trailerLength
    }
    for (;;) {
      this.#needed = tagHeaderLength
      if (buffer.length - at < tagHeaderLength) return { at, tags }
      const size = buffer.readUIntBE(at + 1, 3)
      if (size > maxTagBytes) throw new Error(`FLV: a tag of ${size} bytes is too large`)
      this.#needed = tagHeaderLength + size + trailerLength
      if (buffer.length - at < this.#needed) return { at, tags }
      const timestamp = buffer.readUIntBE(at + 4, 3) + buffer[at + 7]! * 2 ** 24
      const payload = buffer.subarray(at + tagHeaderLength, at + tagHeaderLength + size)
      tags.push({ type: buffer[at]! & 31, timestamp, payload })
      at += this.#needed
    }
  }
}

/** The header of an FLV stream with audio and video. */
export const flvHeader = Buffer.from('FLV\x01\x05\0\0\0\x09\0\0\0\0', 'latin1')

export function writeFlvTag({ type, timestamp, payload }: FlvTag): Buffer {
  const bytes = Buffer.alloc(tagHeaderLength + payload.length + trailerLength)
  bytes[0] = type
  bytes.writeUIntBE(payload.length, 1, 3)
  bytes.writeUIntBE(timestamp % 2 ** 24, 4, 3)
  bytes[7] = Math.floor(timestamp / 2 ** 24) % 256
  payload.copy(bytes, tagHeaderLength)
  bytes.writeUInt32BE(tagHeaderLength + payload.length, bytes.length - trailerLength)
  return bytes
}
