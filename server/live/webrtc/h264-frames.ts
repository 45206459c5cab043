import type { RtpPacket } from './rtp.ts'

// H.264 in RTP (RFC 6184), in the mode where a frame may be split.

const startCode = Buffer.from([0, 0, 1])
const [aggregate, fragment] = [24, 28]
/** A key frame of 4K has less. */
const maxFrameBytes = 8 * 1024 * 1024

/** The NAL units of a packet, with start codes between them. A fragment of a unit has one only at its beginning. */
export function readH264Packet({ payload }: Pick<RtpPacket, 'payload'>): Buffer[] {
  if (payload.length < 2) return []
  const type = payload[0]! & 31
  if (type === aggregate) return readAggregate(payload)
  if (type !== fragment) return type > 0 && type < aggregate ? [startCode, payload] : []
  const isFirst = (payload[1]! & 0x80) !== 0
  if (!isFirst) return [payload.subarray(2)]
  const header = (payload[0]! & 0xe0) | (payload[1]! & 31)
  return [startCode, Buffer.from([header]), payload.subarray(2)]
}

function readAggregate(payload: Buffer): Buffer[] {
  const parts: Buffer[] = []
  for (let at = 1; at + 2 < payload.length; ) {
    const end = at + 2 + payload.readUInt16BE(at)
    if (end > payload.length) break
    parts.push(startCode, payload.subarray(at + 2, end))
    at = end
  }
  return parts
}

export type Frame = { timestamp: number; data: Buffer }

type Options = {
  read(packet: RtpPacket): Buffer[]
  /** A whole frame. Frames with missing packets are left out. */
  onFrame(frame: Frame): void
  /** A frame is lost. */
  onLoss(): void
}

/** Joins the packets of a frame, which are in their order. */
export class FrameAssembler {
  readonly #options: Options
  #timestamp: number | undefined
  #parts: Buffer[] = []
  #bytes = 0
  /** What arrives belongs to a frame whose beginning is missing. */
  #isDamaged = false

  constructor(options: Options) {
    this.#options = options
  }

  add(packet: RtpPacket, isAfterGap: boolean): void {
    const isNew = packet.timestamp !== this.#timestamp
    if (isNew && !isAfterGap) this.#finish()
    if (isAfterGap) {
      // Which frames are concerned is unknown: at least one of the two.
      this.#drop()
      this.#options.onLoss()
      this.#isDamaged = !isNew
    }
    this.#timestamp = packet.timestamp
    // Padding, which probes the network.
    if (packet.payload.length === 0) return
    for (const part of this.#options.read(packet)) {
      this.#parts.push(part)
      this.#bytes += part.length
    }
    if (this.#bytes > maxFrameBytes) this.#drop()
    if (packet.marker) this.#finish()
  }

  #finish(): void {
    const [timestamp, parts, isDamaged] = [this.#timestamp, this.#parts, this.#isDamaged]
    this.#drop()
    if (timestamp !== undefined && parts.length > 0 && !isDamaged)
      this.#options.onFrame({ timestamp, data: Buffer.concat(parts) })
  }

  #drop(): void {
    this.#parts = []
    this.#bytes = 0
    this.#isDamaged = false
  }
}
