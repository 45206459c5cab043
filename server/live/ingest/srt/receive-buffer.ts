import { distance, nextSequence, type SequenceRange } from './packets.ts'

type Options = {
  /** The sequence number of the first packet. */
  first: number
  /** How long a missing packet is waited for. */
  latencyMs: number
  /** In the order of their sequence numbers. */
  onPacket(payload: Buffer): void
}

type Missing = { dueAt: number; reportedAt: number }

/** Packets that are further ahead are ignored. At 20 Mbit/s, these are four seconds. */
export const windowPackets = 8_192
const maxHeldBytes = 12 * 1024 * 1024
/** Each packet allows for as many missing ones, because these cost more time than those that arrive. */
const missingPerPacket = 2

/**
 * Puts packets in order. It holds packets only while an earlier one is missing. A packet that is missing for longer than the
 * latency is given up, so that a lossy network delays a broadcast by no more than that.
 *
 * It does not wait for the time of delivery in the packets, as a player would: parts are made by the timestamps in the
 * stream. So a network without loss adds no delay.
 */
export class ReceiveBuffer {
  readonly #options: Options
  /** The packet to be delivered next. */
  #next: number
  /** The packet after the latest that was received. */
  #end: number
  readonly #held = new Map<number, Buffer>()
  #heldBytes = 0
  /** In ascending order. */
  readonly #missing = new Map<number, Missing>()
  /** The missing packets that the next one may reveal. */
  #mayMiss = windowPackets
  /** All packets that were sent, as far as it is known. */
  expected = 0
  /** Packets that were missing at first. */
  late = 0
  /** Packets that were given up. */
  lost = 0

  constructor(options: Options) {
    this.#options = options
    this.#next = options.first
    this.#end = options.first
  }

  /** Every packet before this one was received or given up. */
  get next(): number {
    return this.#next
  }

  get isMissingAny(): boolean {
    return this.#missing.size > 0
  }

  get heldPackets(): number {
    return this.#held.size
  }

  /** Returns the packets that turn out to be missing, which are to be reported at once. */
  receive(sequence: number, payload: Buffer, nowMs: number): SequenceRange | undefined {
    const position = distance(this.#next, sequence)
    if (position < 0 || position >= windowPackets) return undefined
    const ahead = distance(this.#end, sequence)
    this.#mayMiss = Math.min(windowPackets, this.#mayMiss + missingPerPacket)
    if (ahead > this.#mayMiss) return undefined
    if (ahead < 0 && !this.#missing.delete(sequence)) return undefined
    const gap = ahead > 0 ? this.#addMissing(sequence, nowMs) : undefined
    if (ahead >= 0) {
      this.#end = nextSequence(sequence)
      this.expected += ahead + 1
    }
    if (sequence === this.#next) {
      this.#next = nextSequence(sequence)
      this.#options.onPacket(payload)
      if (this.#next !== this.#end) this.#deliver()
    } else {
      this.#held.set(sequence, payload)
      this.#heldBytes += payload.length
      if (this.#heldBytes > maxHeldBytes) this.#giveUp(this.#missing.keys().next().value!)
    }
    return gap
  }

  /** The packets that the sender no longer has. It drops the oldest ones first, so it does not have older ones either. */
  drop({ first, last }: SequenceRange): void {
    this.#giveUp(last)
    // What the sender dropped before it was sent is missing without a later packet.
    const ahead = distance(this.#end, last)
    if (distance(first, this.#end) < 0 || ahead < 0 || distance(this.#next, last) >= windowPackets) return
    const isInOrder = this.#next === this.#end
    this.lost += ahead + 1
    this.expected += ahead + 1
    this.#end = nextSequence(last)
    if (isInOrder) this.#next = this.#end
  }

  /** Gives up packets that are missing for too long. */
  expire(nowMs: number): void {
    for (const [sequence, { dueAt }] of this.#missing) {
      if (dueAt > nowMs) break
      this.#giveUp(sequence)
    }
  }

  /** The packets that were not reported for an interval, as many ranges as fit into a report. */
  unreported(nowMs: number, intervalMs: number, maxRanges: number): SequenceRange[] {
    const ranges: SequenceRange[] = []
    for (const [sequence, missing] of this.#missing) {
      if (nowMs - missing.reportedAt < intervalMs) continue
      const range = ranges.at(-1)
      if (range && nextSequence(range.last) === sequence) range.last = sequence
      else if (ranges.length === maxRanges) break
      else ranges.push({ first: sequence, last: sequence })
      missing.reportedAt = nowMs
    }
    return ranges
  }

  #addMissing(until: number, nowMs: number): SequenceRange {
    const first = this.#end
    const dueAt = nowMs + this.#options.latencyMs
    this.#mayMiss -= distance(first, until)
    for (let sequence = first; sequence !== until; sequence = nextSequence(sequence)) {
      this.#missing.set(sequence, { dueAt, reportedAt: nowMs })
      this.late++
    }
    return { first, last: nextSequence(until, -1) }
  }

  /** The missing ones up to this one. */
  #giveUp(sequence: number): void {
    for (const each of this.#missing.keys()) {
      if (distance(each, sequence) < 0) break
      this.#missing.delete(each)
      this.lost++
    }
    this.#deliver()
  }

  /** Those that are held below the next missing one, or all. */
  #deliver(): void {
    const [until = this.#end] = this.#missing.keys()
    while (this.#next !== until) {
      const payload = this.#held.get(this.#next)
      this.#held.delete(this.#next)
      this.#next = nextSequence(this.#next)
      if (!payload) continue
      this.#heldBytes -= payload.length
      this.#options.onPacket(payload)
    }
  }
}
