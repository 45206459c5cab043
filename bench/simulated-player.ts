/** After a stall, a player does not continue with less than this. */
const bufferSeconds = 2
/** Durations are whole frames, so that two seconds may be a little less. */
const toleranceSeconds = 0.1

export type Stall = { positionSeconds: number; seconds: number }

/**
 * A viewer who presses play as soon as that is possible. The player starts with the first segment, plays in real time,
 * stops when its buffer is empty, and continues with two seconds of buffer or at the end of the video.
 */
export class SimulatedPlayer {
  /** All times are in seconds since the last byte of the upload. */
  startedAt: number | undefined
  readonly stalls: Stall[] = []
  readonly #targetSeconds: number
  #position = 0
  #time = 0
  #available = 0
  #stalledAt: number | undefined

  /** The viewer watches this much of the video. */
  constructor(targetSeconds: number) {
    this.#targetSeconds = targetSeconds
  }

  /** Plays until `time`, when `available` seconds of the video are known to be playable. */
  advance(time: number, available: number): void {
    if (this.startedAt !== undefined && this.#stalledAt === undefined) this.#play(time)
    this.#time = time
    this.#available = available
    if (available > 0) this.startedAt ??= time
    const isEnough =
      available - this.#position >= bufferSeconds - toleranceSeconds || this.#has(this.#targetSeconds)
    if (!isEnough || this.#stalledAt === undefined) return
    this.stalls.push({ positionSeconds: this.#position, seconds: time - this.#stalledAt })
    this.#stalledAt = undefined
  }

  /** The viewer gives up. A stall that has not ended counts as well. */
  stop(time: number): void {
    this.advance(time, this.#available)
    if (this.#stalledAt === undefined) return
    this.stalls.push({ positionSeconds: this.#position, seconds: time - this.#stalledAt })
    this.#stalledAt = undefined
  }

  /** Nothing can interrupt the viewer any more. */
  get isSafe(): boolean {
    return this.startedAt !== undefined && this.#has(this.#targetSeconds)
  }

  #has(seconds: number): boolean {
    return this.#available >= seconds - toleranceSeconds
  }

  #play(time: number): void {
    const wanted = this.#position + (time - this.#time)
    this.#position = Math.min(wanted, this.#available)
    if (wanted > this.#available && !this.#has(this.#targetSeconds))
      this.#stalledAt = time - (wanted - this.#available)
  }
}
