// The packets of SRT (draft-sharabayko-srt): a header of 16 bytes and a payload. Control packets have the highest bit set.

export const headerLength = 16
/** The payload of a UDP packet in a network with the usual MTU of 1500. */
export const maxPacketBytes = 1472

export const controlType = {
  handshake: 0,
  keepAlive: 1,
  acknowledge: 2,
  lossReport: 3,
  shutdown: 5,
  acknowledged: 6,
  dropRequest: 7,
  /** Its subtype is that of a handshake extension. */
  extension: 0x7fff,
} as const

export const isControl = (packet: Buffer) => packet[0]! >> 7 === 1
export const typeOf = (packet: Buffer) => packet.readUInt16BE(0) & 0x7fff
export const subtypeOf = (packet: Buffer) => packet.readUInt16BE(2)
/** What the second word means depends on the type. */
export const detailOf = (packet: Buffer) => packet.readUInt32BE(4)
/** The receiver's id of the connection. 0 in a handshake, before there is one. */
export const destinationOf = (packet: Buffer) => packet.readUInt32BE(12)

export type DataHeader = {
  sequence: number
  /** 0: not encrypted, 1: by the even key, 2: by the odd key. */
  key: number
  isRetransmitted: boolean
}

export function readDataHeader(packet: Buffer): DataHeader {
  const flags = packet[4]!
  return {
    sequence: packet.readUInt32BE(0),
    key: (flags >> 3) & 3,
    isRetransmitted: (flags & 4) !== 0,
  }
}

type ControlPacket = {
  type: number
  subtype?: number
  detail?: number
  /** In microseconds. The clock may start anywhere and wraps around. */
  timestamp: number
  destination: number
  body?: Buffer
}

export function writeControl({ type, subtype = 0, detail = 0, ...rest }: ControlPacket): Buffer {
  // libsrt expects a body in every packet.
  const { timestamp, destination, body = Buffer.alloc(4) } = rest
  const packet = Buffer.alloc(headerLength + body.length)
  packet.writeUInt16BE(0x8000 | type, 0)
  packet.writeUInt16BE(subtype, 2)
  packet.writeUInt32BE(detail, 4)
  packet.writeUInt32BE(Math.floor(timestamp) % 2 ** 32, 8)
  packet.writeUInt32BE(destination, 12)
  body.copy(packet, headerLength)
  return packet
}

/** Sequence numbers have 31 bits and wrap around. A remainder would take longer, as it is computed with fractions. */
const sequenceMask = 0x7fffffff

export const nextSequence = (sequence: number, count = 1) => (sequence + count) & sequenceMask

/** How far the first number is behind the second one, on the shorter way around. Negative if it is ahead. */
export const distance = (from: number, to: number) => ((to - from) << 1) >> 1

export type SequenceRange = { first: number; last: number }

const rangeFlag = 2 ** 31

/** The body of a loss report. A range has the highest bit of its first number set. */
export function writeLossList(ranges: SequenceRange[]): Buffer {
  const words = ranges.flatMap(({ first, last }) => (first === last ? [first] : [first + rangeFlag, last]))
  const body = Buffer.alloc(4 * words.length)
  for (const [i, word] of words.entries()) body.writeUInt32BE(word, 4 * i)
  return body
}
