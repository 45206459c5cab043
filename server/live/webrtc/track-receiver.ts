import { PacketQueue } from './packet-queue.ts'
import type { ReceptionReport, SenderReport } from './rtcp.ts'
import type { RtpPacket } from './rtp.ts'
import type { Track } from './sdp.ts'
import { TrackClock } from './track-clock.ts'

/** A packet that is sent again arrives after a round trip. Without the packet, the picture stands until a key frame. */
const waitMs = { video: 800, audio: 400 }
const rates = { video: 90_000, audio: 48_000 }
const minRetryMs = 20
const defaultRoundTripMs = 80
const [minReorderMs, maxReorderMs] = [8, 100]
const originalBytes = 2

type Options = { track: Track; onPacket(packet: RtpPacket, isAfterGap: boolean): void }

/** Receives one track: its order, its clock, and what is reported about it. */
export class TrackReceiver {
  readonly track: Track
  readonly clock: TrackClock
  readonly queue: PacketQueue
  ssrc: number | undefined
  #sender: { report: SenderReport; atMs: number } | undefined
  #first: number | undefined
  #reported = { expected: 0, received: 0 }
  #jitter = 0
  #transit: number | undefined

  constructor({ track, onPacket }: Options) {
    this.track = track
    this.clock = new TrackClock(rates[track.kind])
    this.queue = new PacketQueue({ waitMs: waitMs[track.kind], onPacket })
  }

  receive(packet: RtpPacket, nowMs: number): void {
    const { track } = this
    if (packet.payloadType === track.retransmissionType) {
      const original = withoutRetransmission(packet, track.payloadType)
      if (original) this.queue.add(original, nowMs)
      return
    }
    if (packet.payloadType !== track.payloadType) return
    this.ssrc = packet.ssrc
    this.#measureJitter(packet.timestamp, nowMs)
    this.queue.add(packet, nowMs)
    this.#first ??= this.queue.highest
  }

  /** The packets to ask for now. */
  takeRequests(nowMs: number): number[] {
    if (!this.track.hasNack) return []
    // Packets overtake each other by about as much as their delay varies.
    const reorderMs = Math.min(maxReorderMs, minReorderMs + 2 * this.#jitterMs)
    const roundTrip = this.queue.roundTripMs ?? defaultRoundTripMs
    return this.queue.takeRequests(nowMs, { reorderMs, retryMs: minRetryMs + roundTrip + reorderMs })
  }

  get #jitterMs(): number {
    return (1000 * this.#jitter) / rates[this.track.kind]
  }

  onSenderReport(report: SenderReport, nowMs: number): void {
    this.#sender = { report, atMs: nowMs }
    this.clock.report(report)
  }

  /** RFC 3550, 6.4.1. */
  report(nowMs: number): ReceptionReport | undefined {
    if (this.ssrc === undefined || this.#first === undefined) return undefined
    const expected = this.queue.highest - this.#first + 1
    const received = this.queue.received
    const [newExpected, newReceived] = [
      expected - this.#reported.expected,
      received - this.#reported.received,
    ]
    this.#reported = { expected, received }
    const newLost = Math.max(0, newExpected - newReceived)
    const delayMs = this.#sender ? nowMs - this.#sender.atMs : 0
    return {
      ssrc: this.ssrc,
      fractionLost: newExpected > 0 ? Math.min(255, Math.floor((256 * newLost) / newExpected)) : 0,
      lost: Math.max(0, expected - received),
      highestSequence: this.queue.highest,
      jitter: this.#jitter,
      lastReport: this.#sender?.report.ntpMiddle ?? 0,
      delay: Math.round((delayMs / 1000) * 65_536),
    }
  }

  #measureJitter(timestamp: number, nowMs: number): void {
    const rate = rates[this.track.kind]
    const transit = (Math.round((nowMs * rate) / 1000) - timestamp) | 0
    if (this.#transit !== undefined) {
      const difference = Math.abs((transit - this.#transit) | 0)
      this.#jitter += (difference - this.#jitter) / 16
    }
    this.#transit = transit
  }
}

/** RFC 4588: the payload begins with the original number. Undefined for padding. */
function withoutRetransmission(packet: RtpPacket, payloadType: number): RtpPacket | undefined {
  if (packet.payload.length <= originalBytes) return undefined
  return {
    ...packet,
    payloadType,
    sequence: packet.payload.readUInt16BE(),
    payload: packet.payload.subarray(originalBytes),
  }
}
