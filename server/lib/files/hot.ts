const sweepMs = 10_000
/** After so many sweeps a file is opened anew, and read by that: the system may have dropped it from its memory. */
const mostSweeps = 6

export type Held<Value> = { value: Value; release(): void }

type Entry<Value> = {
  size: number
  weight: number
  holders: number
  isUsed: boolean
  sweeps: number
  value: Promise<Value | undefined>
}

export type HotOptions<Value> = {
  /** Undefined where the file is not as long as it should be. */
  open(key: string, size: number): Promise<Value | undefined>
  close?(value: Value): void
  weightOf(size: number): number
  /** Of all of them together, those included that slow readers are still taking. */
  mostWeight: number
}

/**
 * Files that many ask for at about the same time, as viewers do for a segment: opened once for all of them. What was
 * not asked for in a while is closed, as a file that is removed meanwhile takes room on the disk until then.
 */
export class HotFiles<Value> {
  readonly #options: HotOptions<Value>
  // A map keeps the order in which its keys were set: what was not asked for the longest comes first.
  readonly #entries = new Map<string, Entry<Value>>()
  #weight = 0
  readonly #sweeper = setInterval(() => this.sweep(), sweepMs).unref()

  constructor(options: HotOptions<Value>) {
    this.#options = options
  }

  /**
   * Only of files that never change under their key. Undefined where there is no room: what is held cannot be dropped,
   * and without a limit a thousand slow viewers would hold a thousand files.
   */
  async hold(key: string, size: number): Promise<Held<Value> | undefined> {
    const entry = this.#entries.get(key) ?? this.#add(key, size)
    if (entry?.size !== size) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    entry.holders++
    entry.isUsed = true
    let value: Value | undefined
    try {
      value = await entry.value
    } finally {
      if (value === undefined) {
        entry.holders--
        if (this.#entries.get(key) === entry) this.#drop(key, entry)
      }
    }
    return value === undefined ? undefined : { value, release: () => entry.holders-- }
  }

  /** Closes what nobody has asked for since the last time, and what is open for long. */
  sweep(): void {
    for (const [key, entry] of this.#entries) {
      const isOver = !entry.isUsed || ++entry.sweeps >= mostSweeps
      if (entry.holders === 0 && isOver) this.#drop(key, entry)
      entry.isUsed = false
    }
  }

  /** Nobody holds anything any more. */
  close(): void {
    clearInterval(this.#sweeper)
    for (const [key, entry] of this.#entries) this.#drop(key, entry)
  }

  #add(key: string, size: number): Entry<Value> | undefined {
    const weight = this.#options.weightOf(size)
    if (!this.#makeRoom(weight)) return undefined
    this.#weight += weight
    return { size, weight, holders: 0, isUsed: true, sweeps: 0, value: this.#options.open(key, size) }
  }

  #makeRoom(weight: number): boolean {
    const { mostWeight } = this.#options
    const idle = [...this.#entries].filter(([, { holders }]) => holders === 0)
    const held = idle.reduce((rest, [, each]) => rest - each.weight, this.#weight)
    if (held + weight > mostWeight) return false
    for (const [key, entry] of idle) if (this.#weight + weight > mostWeight) this.#drop(key, entry)
    return true
  }

  #drop(key: string, { weight, value }: Entry<Value>): void {
    this.#entries.delete(key)
    this.#weight -= weight
    const close = (opened: Value | undefined) => opened !== undefined && this.#options.close?.(opened)
    // One that could not be opened was told of to whoever asked.
    value.then(close, () => {})
  }
}
