// RTP packets (RFC 3550) and their header extensions (RFC 8285).

const fixedHeaderBytes = 12
const oneByteExtensions = 0xbede
const version = 2

export type RtpPacket = {
  payloadType: number
  sequence: number
  timestamp: number
  ssrc: number
  /** The last packet of a frame. */
  marker: boolean
  payload: Buffer
  /** The number of the packet among those of all tracks, if the other side sends it. */
  transportSequence: number | undefined
}

/** RTP and RTCP use the same port. RFC 5761, 4. */
export const isRtcp = (packet: Buffer) => packet.length > 1 && packet[1]! >= 192 && packet[1]! <= 223

/** Undefined if the packet is too short for its header. */
export function rtpHeaderBytes(packet: Buffer): number | undefined {
  if (packet.length < fixedHeaderBytes || packet[0]! >> 6 !== version) return undefined
  const sources = packet[0]! & 15
  const at = fixedHeaderBytes + 4 * sources
  const hasExtension = (packet[0]! & 0x10) !== 0
  if (!hasExtension) return at <= packet.length ? at : undefined
  if (packet.length < at + 4) return undefined
  const end = at + 4 + 4 * packet.readUInt16BE(at + 2)
  return end <= packet.length ? end : undefined
}

/** `transportId` is the number of the header extension with the number of the packet. */
export function readRtp(packet: Buffer, transportId: number | undefined): RtpPacket | undefined {
  const headerBytes = rtpHeaderBytes(packet)
  if (headerBytes === undefined) return undefined
  const hasPadding = (packet[0]! & 0x20) !== 0
  const padding = hasPadding && packet.length > headerBytes ? packet.at(-1)! : 0
  const end = packet.length - padding
  if (end < headerBytes) return undefined
  return {
    payloadType: packet[1]! & 127,
    marker: (packet[1]! & 128) !== 0,
    sequence: packet.readUInt16BE(2),
    timestamp: packet.readUInt32BE(4),
    ssrc: packet.readUInt32BE(8),
    payload: packet.subarray(headerBytes, end),
    transportSequence:
      transportId === undefined ? undefined : readExtension(packet, headerBytes, transportId),
  }
}

/** The first two bytes of an extension. */
function readExtension(packet: Buffer, headerBytes: number, id: number): number | undefined {
  let at = fixedHeaderBytes + 4 * (packet[0]! & 15)
  if (at >= headerBytes || packet.readUInt16BE(at) !== oneByteExtensions) return undefined
  for (at += 4; at < headerBytes; ) {
    const head = packet[at]!
    // Padding.
    if (head === 0) {
      at++
      continue
    }
    const length = (head & 15) + 1
    if (head >> 4 === id && length >= 2 && at + 3 <= headerBytes) return packet.readUInt16BE(at + 1)
    at += 1 + length
  }
  return undefined
}
