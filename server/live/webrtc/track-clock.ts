import type { SenderReport } from './rtcp.ts'

/** A difference that nobody notices is not corrected. */
const toleranceMs = 15
/** Larger ones are errors of the sender. */
const maxCorrectionMs = 3_000

/** Turns the timestamps of a track into milliseconds on the clock of this process. */
export class TrackClock {
  readonly #rate: number
  #last: { timestamp: number; ticks: number } | undefined
  #offsetMs: number | undefined
  /** What makes a time of the track a time on the clock of the sender. */
  #senderOffsetMs: number | undefined

  constructor(rate: number) {
    this.#rate = rate
  }

  /** The first packet is at the time of its arrival. */
  read(timestamp: number, nowMs: number): number {
    const ms = this.#unwrap(timestamp)
    this.#offsetMs ??= nowMs - ms
    return ms + this.#offsetMs
  }

  report({ timestamp, ntpMs }: SenderReport): void {
    if (!this.#last) return
    const ticks = this.#last.ticks + ((timestamp - this.#last.timestamp) | 0)
    this.#senderOffsetMs = ntpMs - (ticks * 1000) / this.#rate
  }

  /** Moves the track, so that what was captured at the same time as the other one is at the same time. */
  follow(other: TrackClock): void {
    if (this.#offsetMs === undefined || other.#offsetMs === undefined) return
    if (this.#senderOffsetMs === undefined || other.#senderOffsetMs === undefined) return
    const offsetMs = this.#senderOffsetMs + other.#offsetMs - other.#senderOffsetMs
    const changeMs = Math.abs(offsetMs - this.#offsetMs)
    if (changeMs > toleranceMs && changeMs < maxCorrectionMs) this.#offsetMs = offsetMs
  }

  /** Timestamps have 32 bits. */
  #unwrap(timestamp: number): number {
    const last = this.#last
    const ticks = last ? last.ticks + ((timestamp - last.timestamp) | 0) : 0
    this.#last = { timestamp, ticks }
    return (ticks * 1000) / this.#rate
  }
}
