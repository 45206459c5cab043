import { setTimeout as delay } from 'node:timers/promises'

/** An encoder that was disconnected sends at once what it has buffered meanwhile. */
const maxAheadMs = 120_000
/** The clock of an encoder may be a little fast. */
const maxRate = 1.01
/** Each beginning is stored with segments of its own, however short they are. */
const startMs = 250
/** How often it is checked whether waiting is still useful. */
const checkMs = 500
/** An encoder that waits again and again is ahead all the time. */
const nearMs = 10_000

type Options = {
  /** The real time since the beginning of the broadcast. */
  elapsedMs: number
  /** The time that the stream of the broadcast has reached. */
  reachedMs: number
  /** Nobody needs what is waiting. */
  isUseless(): boolean
  clock?(): number
}

/**
 * Ties the time of a stream to real time. Timestamps cost nothing: an encoder could otherwise send hours in a minute, which
 * would be stored and recorded. It has to wait as soon as it is too far ahead.
 */
export class Pace {
  readonly #options: Options
  readonly #clock: () => number
  readonly #startedAt: number
  #reachedMs: number
  #starts = 0

  constructor(options: Options) {
    const { elapsedMs, reachedMs, clock = () => performance.now() } = options
    this.#options = options
    this.#clock = clock
    this.#reachedMs = reachedMs
    // No stream gets further ahead than this, so the clock of the database was set back.
    const isSetBack = realTimeOf(reachedMs) - elapsedMs > maxAheadMs
    this.#startedAt = clock() - (isSetBack ? reachedMs : elapsedMs)
  }

  /** The latest time of the stream. */
  get reachedMs(): number {
    return this.#reachedMs
  }

  reach(atMs: number): void {
    this.#reachedMs = Math.max(this.#reachedMs, atMs)
  }

  /** The stream begins, or begins anew with another configuration. */
  start(): void {
    this.#starts++
  }

  /** Undefined, or a promise that resolves when the stream may go on. */
  drain(): Promise<void> | undefined {
    return this.isAhead ? this.#wait() : undefined
  }

  get isAhead(): boolean {
    return this.#waitMs > 0
  }

  /** A sentence for the owner of the stream. */
  get problem(): string | undefined {
    return this.#waitMs > -nearMs
      ? 'The encoder sends faster than real time. It has to wait while it is more than 2 minutes ahead.'
      : undefined
  }

  async #wait(): Promise<void> {
    while (this.isAhead && !this.#options.isUseless()) await delay(Math.min(this.#waitMs, checkMs))
  }

  get #waitMs(): number {
    return realTimeOf(this.#reachedMs + this.#starts * startMs) - (this.#clock() - this.#startedAt)
  }
}

/** The earliest real time since the beginning of a broadcast at which its stream may have reached a time. */
const realTimeOf = (reachedMs: number) => (reachedMs - maxAheadMs) / maxRate
