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
    const offsets = [this.#offset, this.#previousOffset].filter((each) => each !== undefined)
    // A wrap-around of the 32-bit timestamp is no jump. The tracks do not wrap around at the same moment.
    const times = offsets.flatMap((offset) => [0, wrap, -wrap].map((turn) => timestamp + offset + turn))
    const isNear = (time: number) =>
      Math.abs(time - this.#lastMs) <= maxGapMs &&
      time >= this.#startMs &&
      (trackMs === undefined || time >= trackMs - maxBackMs)
    const distance = (time: number) => Math.abs(time - (trackMs ?? this.#lastMs))
    const [nearest] = times.filter(isNear).toSorted((a, b) => distance(a) - distance(b))
    if (nearest !== undefined && nearest === times[1]) this.#offset = nearest - timestamp
    return nearest
  }

  #jump(timestamp: number, stepMs: number): number {
    this.jumps++
    this.#previousOffset = this.#offset
    this.#offset = this.#lastMs + stepMs - timestamp
    return this.#lastMs + stepMs
  }
}
