/** Later than any quality that is still being encoded. */
const maxKnown = 64

/**
 * The media sequence numbers of a broadcast. The best quality decides where segments begin. The other qualities have the
 * same segments, so that players can switch between them.
 */
export class SegmentNumbers {
  readonly #byStart = new Map<number, number>()
  #next: number

  constructor(next: number) {
    this.#next = next
  }

  /** Numbers a segment of the best quality. */
  begin(startMs: number): number {
    const sequence = this.#next++
    this.#byStart.set(startMs, sequence)
    const [oldest] = this.#byStart.keys()
    if (this.#byStart.size > maxKnown && oldest !== undefined) this.#byStart.delete(oldest)
    return sequence
  }

  /** The number that the next segment gets. */
  get next(): number {
    return this.#next
  }

  /** Numbers before this one are taken. */
  skipTo(next: number): void {
    this.#next = Math.max(this.#next, next)
  }

  /** Undefined if no segment of the best quality begins at this time. */
  find(startMs: number): number | undefined {
    return this.#byStart.get(startMs)
  }
}
