import type { RtpPacket } from './rtp.ts'

/** A key frame of 4K has less. */
const maxFrameBytes = 8 * 1024 * 1024
/** Each packet takes memory, however short it is. */
const maxFramePackets = 8_192

/** The payloads of the packets of a frame. */
export type PacketizedFrame = { timestamp: number; payloads: Buffer[] }

type Options = {
  /** A whole frame. Frames with missing packets are left out. */
  onFrame(frame: PacketizedFrame): void
  /** A frame is lost. */
  onLoss(): void
}

/** Joins the packets of a frame, which are in their order. */
export class FrameAssembler {
  readonly #options: Options
  #timestamp: number | undefined
  #payloads: Buffer[] = []
  #bytes = 0
  /** What arrives belongs to a frame whose beginning may be missing. */
  #isDamaged = false
  /** The sender marks the last packet of each frame. */
  #hasMarkers = false

  constructor(options: Options) {
    this.#options = options
  }

  add({ timestamp, payload, marker }: RtpPacket, isAfterGap: boolean): void {
    const isNew = timestamp !== this.#timestamp
    if (isNew && !isAfterGap) this.#end()
    if (isAfterGap) {
      // Which packets of the two frames are missing is unknown.
      this.#drop()
      this.#options.onLoss()
      this.#isDamaged = true
    }
    this.#timestamp = timestamp
    // Padding, which probes the network.
    if (payload.length === 0) return
    this.#payloads.push(payload)
    this.#bytes += payload.length
    if (this.#bytes > maxFrameBytes || this.#payloads.length > maxFramePackets) {
      this.#drop()
      this.#options.onLoss()
      // What follows is the rest of it.
      this.#isDamaged = true
    }
    if (!marker) return
    this.#hasMarkers = true
    this.#finish()
  }

  /** Chromium leaves out the rest of a frame, without a gap in its packets, if a key frame is ready. */
  #end(): void {
    const isCut = this.#hasMarkers && this.#payloads.length > 0
    if (isCut) {
      this.#drop()
      this.#options.onLoss()
    } else this.#finish()
  }

  #finish(): void {
    const [timestamp, payloads, isDamaged] = [this.#timestamp, this.#payloads, this.#isDamaged]
    this.#drop()
    if (timestamp !== undefined && payloads.length > 0 && !isDamaged)
      this.#options.onFrame({ timestamp, payloads })
  }

  #drop(): void {
    this.#payloads = []
    this.#bytes = 0
    this.#isDamaged = false
  }
}
