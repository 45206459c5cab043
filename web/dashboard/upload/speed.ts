const windowMs = 8_000

/** The speed of the last seconds. */
export class SpeedMeter {
  readonly #now: () => number
  #samples: { at: number; sent: number }[] = []

  constructor(now = () => performance.now()) {
    this.#now = now
  }

  reset(): void {
    this.#samples = []
  }

  add(sent: number): void {
    const at = this.#now()
    this.#samples.push({ at, sent })
    while (this.#samples.length > 2 && this.#samples[0]!.at < at - windowMs) this.#samples.shift()
  }

  /** Undefined until there is something to compare. */
  get bytesPerSecond(): number | undefined {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)]
    if (!first || !last || last.at - first.at < 500) return undefined
    return (last.sent - first.sent) / ((last.at - first.at) / 1000)
  }
}
