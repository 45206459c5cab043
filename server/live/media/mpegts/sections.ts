import type { TsPacket } from './packets.ts'

/** A section has at most 1,024 bytes. */
const maxSectionBytes = 1_024
const headerBytes = 8
const checksumBytes = 4

/** Joins the sections of a table from packets. */
export class SectionReader {
  #parts: Buffer[] | undefined
  #length = 0

  /** Returns a complete section that is undamaged. */
  read({ isStart, hasGap, bytes, start, end }: TsPacket): Buffer | undefined {
    if (hasGap) this.#parts = undefined
    if (isStart) {
      const pointer = bytes[start]!
      this.#parts = []
      this.#length = 0
      this.#add(bytes.subarray(Math.min(end, start + 1 + pointer), end))
    } else if (this.#parts) this.#add(bytes.subarray(start, end))
    return this.#take()
  }

  #add(bytes: Buffer): void {
    // The bytes are those of a packet, which are overwritten.
    this.#parts?.push(Buffer.from(bytes))
    this.#length += bytes.length
  }

  #take(): Buffer | undefined {
    if (!this.#parts || this.#length < 3) return undefined
    const bytes = Buffer.concat(this.#parts)
    const length = 3 + (bytes.readUInt16BE(1) & 0xfff)
    if (length > maxSectionBytes) this.#parts = undefined
    if (!this.#parts || bytes.length < length) return undefined
    this.#parts = undefined
    const section = bytes.subarray(0, length)
    return length >= headerBytes + checksumBytes && checksum(section) === 0 ? section : undefined
  }
}

const tableId = { programs: 0, streams: 2 } as const

/** The table at PID 0 names the PIDs of the programs. Returns the first one. */
export function readProgramPid(section: Buffer): number | undefined {
  if (section[0] !== tableId.programs || !isCurrent(section)) return undefined
  for (let at = headerBytes; at + 4 <= section.length - checksumBytes; at += 4)
    // Number 0 is for the network.
    if (section.readUInt16BE(at) !== 0) return section.readUInt16BE(at + 2) & 0x1fff
  return undefined
}

export type StreamEntry = { type: number; pid: number; descriptors: Buffer }

/** The streams of a program. Undefined if the section is another table. */
export function readStreams(section: Buffer): StreamEntry[] | undefined {
  if (section[0] !== tableId.streams || !isCurrent(section)) return undefined
  const end = section.length - checksumBytes
  const streams: StreamEntry[] = []
  let at = headerBytes + 4
  if (at > end) return undefined
  at += section.readUInt16BE(headerBytes + 2) & 0xfff
  while (at + 5 <= end) {
    const length = section.readUInt16BE(at + 3) & 0xfff
    streams.push({
      type: section[at]!,
      pid: section.readUInt16BE(at + 1) & 0x1fff,
      descriptors: section.subarray(at + 5, Math.min(end, at + 5 + length)),
    })
    at += 5 + length
  }
  return streams
}

const isCurrent = (section: Buffer) => (section[5]! & 1) === 1

/** Of an undamaged section, with its own checksum, it is 0. */
function checksum(section: Buffer): number {
  let crc = -1
  for (const byte of section) {
    crc ^= byte << 24
    for (let bit = 0; bit < 8; bit++) crc = crc < 0 ? (crc << 1) ^ 0x04c11db7 : crc << 1
  }
  return crc
}
