/** The encoder's clock may jump by this without being corrected. One track may be ahead of the other by as much. */
const maxGapMs = 3_000
/** Within a track, times only grow. Some encoders are not that exact. */
const maxBackMs = 500
const wrap = 2 ** 32

/**
 * Maps the timestamps of an encoder, which start anywhere, wrap around, jump and run backwards, to a timeline that starts
 * at `startMs` and goes on. A jump becomes a step of `stepMs`. Both tracks share the timeline, so they stay in sync.
 */
export class Timeline {
  readonly #startMs: number
  #offset: number | undefined
  /** The offset before the last jump. Samples that were sent before the jump may arrive after it. */
  #previousOffset: number | undefined
  #lastMs: number
  jumps = 0

  constructor(startMs: number) {
    this.#startMs = startMs
    this.#lastMs = startMs
  }

  /** The latest time so far. */
  get lastMs(): number {
    return this.#lastMs
  }

  /** `trackMs` is the time of the previous sample of the same track, if it is known. */
  map(timestamp: number, stepMs: number, trackMs?: number): number {
    this.#offset ??= this.#startMs - timestamp
    const at = this.#find(timestamp, trackMs) ?? this.#jump(timestamp, stepMs)
    this.#lastMs = Math.max(this.#lastMs, at)
    return at
  }

  #find(timestamp: number, trackMs: number | undefined): number | undefined {
    const time = this.#findBy(this.#offset, timestamp, trackMs)
    const late = this.#findBy(this.#previousOffset, timestamp, trackMs)
    const expected = trackMs ?? this.#lastMs
    const isLate =
      late !== undefined && (time === undefined || Math.abs(late - expected) < Math.abs(time - expected))
    if (isLate) return late
    if (time !== undefined && time - timestamp === this.#offset! + wrap) this.#offset = time - timestamp
    return time
  }

  /** A wrap-around of the 32-bit timestamp is no jump. The tracks do not wrap around at the same moment. */
  #findBy(offset: number | undefined, timestamp: number, trackMs: number | undefined): number | undefined {
    if (offset === undefined) return undefined
    const time = timestamp + offset
    if (this.#isNear(time, trackMs)) return time
    if (this.#isNear(time + wrap, trackMs)) return time + wrap
    return this.#isNear(time - wrap, trackMs) ? time - wrap : undefined
  }

  #isNear(time: number, trackMs: number | undefined): boolean {
    return (
      Math.abs(time - this.#lastMs) <= maxGapMs &&
      time >= this.#startMs &&
      (trackMs === undefined || time >= trackMs - maxBackMs)
    )
  }

  #jump(timestamp: number, stepMs: number): number {
    this.jumps++
    this.#previousOffset = this.#offset
    this.#offset = this.#lastMs + stepMs - timestamp
    return this.#lastMs + stepMs
  }
}
