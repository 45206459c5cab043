import type { RtpPacket } from './rtp.ts'

/** A jump of this many packets is another stream, not a loss. */
const maxJump = 1_000
/** From the packet that is waited for. At 50 Mbit/s, these are one and a half seconds. */
const maxWaiting = 8_192
/** Each packet allows for as many missing ones, because these cost more time than those that arrive. */
const missingPerPacket = 2
const maxRequests = 16

type Missing = { sinceMs: number; askedMs: number; requests: number }

export type PacketQueueOptions = {
  /** How long a missing packet is waited for. */
  waitMs: number
  /** `isAfterGap`: packets before it are lost. */
  onPacket(packet: RtpPacket, isAfterGap: boolean): void
}

/** Brings the packets of a source into their order, and knows which ones are missing. */
export class PacketQueue {
  readonly #options: PacketQueueOptions
  readonly #packets = new Map<number, RtpPacket>()
  readonly #missing = new Map<number, Missing>()
  /** The sequence number that is delivered next, and the highest one that has arrived. Both do not wrap around. */
  #next: number | undefined
  #highest = 0
  #isAfterGap = false
  /** The missing packets that the next one may reveal. */
  #mayMiss = maxJump
  lost = 0
  retransmitted = 0
  received = 0
  /** Between a request and its packet. */
  roundTripMs: number | undefined

  constructor(options: PacketQueueOptions) {
    this.#options = options
  }

  get highest(): number {
    return this.#highest
  }

  add(packet: RtpPacket, nowMs: number): void {
    const sequence = this.#unwrap(packet.sequence)
    this.#mayMiss = Math.min(maxJump, this.#mayMiss + missingPerPacket)
    const ahead = sequence - this.#highest
    const isJump = ahead > this.#mayMiss || ahead < -maxJump
    if (this.#next === undefined || isJump || sequence - this.#next > maxWaiting) this.#restart(sequence)
    this.received++
    // A duplicate, or too late.
    if (sequence < this.#next! || this.#packets.has(sequence)) return
    this.#mayMiss -= Math.max(0, sequence - this.#highest - 1)
    for (let each = this.#highest + 1; each < sequence; each++)
      this.#missing.set(each, { sinceMs: nowMs, askedMs: Number.NEGATIVE_INFINITY, requests: 0 })
    const missing = this.#missing.get(sequence)
    if (missing && missing.requests > 0) this.#onRetransmitted(missing, nowMs)
    this.#missing.delete(sequence)
    this.#packets.set(sequence, packet)
    this.#highest = Math.max(this.#highest, sequence)
    this.deliver(nowMs)
  }

  /** Delivers what is in order. Missing packets that are waited for too long are lost. */
  deliver(nowMs: number): void {
    while (this.#next !== undefined && this.#next <= this.#highest) {
      const sequence = this.#next
      const packet = this.#packets.get(sequence)
      const missing = this.#missing.get(sequence)
      if (!packet && missing && nowMs - missing.sinceMs < this.#options.waitMs) return
      this.#next++
      this.#missing.delete(sequence)
      if (!packet) {
        this.lost++
        this.#isAfterGap = true
        continue
      }
      this.#packets.delete(sequence)
      const isAfterGap = this.#isAfterGap
      this.#isAfterGap = false
      this.#options.onPacket(packet, isAfterGap)
    }
  }

  /** The packets to ask for now: those that have been missing for `reorderMs`, each at most once in `retryMs`. */
  takeRequests(nowMs: number, { reorderMs, retryMs }: { reorderMs: number; retryMs: number }): number[] {
    const due: number[] = []
    for (const [sequence, missing] of this.#missing) {
      if (nowMs - missing.sinceMs < reorderMs || nowMs - missing.askedMs < retryMs) continue
      if (missing.requests >= maxRequests) continue
      missing.askedMs = nowMs
      missing.requests++
      due.push(sequence & 0xffff)
    }
    return due
  }

  /** After several requests, it is not known which one was answered. */
  #onRetransmitted({ askedMs, requests }: Missing, nowMs: number): void {
    this.retransmitted++
    if (requests > 1) return
    const ms = nowMs - askedMs
    this.roundTripMs = this.roundTripMs === undefined ? ms : this.roundTripMs + (ms - this.roundTripMs) / 8
  }

  #restart(sequence: number): void {
    this.#isAfterGap = this.#next !== undefined
    this.#packets.clear()
    this.#missing.clear()
    this.#next = sequence
    this.#highest = sequence - 1
  }

  /** The number closest to the highest one. */
  #unwrap(sequence: number): number {
    if (this.#next === undefined) return sequence + 0x10000
    const difference = ((sequence - this.#highest) << 16) >> 16
    return this.#highest + difference
  }
}
