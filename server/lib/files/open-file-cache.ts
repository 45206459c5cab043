const sweepMs = 10_000
/** A file is opened again after this many sweeps. Opening reads it, in case the system has dropped it from memory. */
const maxSweeps = 6

/** An entry of the cache. It stays open until it is released. */
export type Acquired<Value> = { value: Value; release(): void }

type Entry<Value> = {
  size: number
  weight: number
  users: number
  isUsed: boolean
  sweeps: number
  value: Promise<Value | undefined>
}

export type OpenFileCacheOptions<Value> = {
  /** Undefined when the file does not have the expected size. */
  open(key: string, size: number): Promise<Value | undefined>
  close?(value: Value): void
  weightOf(size: number): number
  /** The limit for all entries together, including those that slow clients still read. */
  maxWeight: number
}

/**
 * Keeps files open that many clients request at about the same time, as viewers request a segment. A file that was not
 * requested for a while is closed, because a deleted file takes up disk space until it is closed.
 *
 * lru-cache is not used: it evicts entries that are in use, and an open descriptor must not be closed while it is sent.
 */
export class OpenFileCache<Value> {
  readonly #options: OpenFileCacheOptions<Value>
  // A map keeps the order in which keys were set, so the least recently used entry comes first.
  readonly #entries = new Map<string, Entry<Value>>()
  #weight = 0
  readonly #sweeper = setInterval(() => this.sweep(), sweepMs).unref()

  constructor(options: OpenFileCacheOptions<Value>) {
    this.#options = options
  }

  /**
   * Only for files that never change under their key. Undefined when there is no room: entries in use cannot be
   * dropped, and without a limit a thousand slow clients would keep a thousand files open.
   */
  async acquire(key: string, size: number): Promise<Acquired<Value> | undefined> {
    const entry = this.#entries.get(key) ?? this.#add(key, size)
    if (entry?.size !== size) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    entry.users++
    entry.isUsed = true
    let value: Value | undefined
    try {
      value = await entry.value
    } finally {
      if (value === undefined) {
        entry.users--
        if (this.#entries.get(key) === entry) this.#drop(key, entry)
      }
    }
    return value === undefined ? undefined : { value, release: () => entry.users-- }
  }

  /** Closes files that were not requested since the last sweep, and files that have been open for long. */
  sweep(): void {
    for (const [key, entry] of this.#entries) {
      const isExpired = !entry.isUsed || ++entry.sweeps >= maxSweeps
      if (entry.users === 0 && isExpired) this.#drop(key, entry)
      entry.isUsed = false
    }
  }

  /** To be called when no entry is in use. */
  close(): void {
    clearInterval(this.#sweeper)
    for (const [key, entry] of this.#entries) this.#drop(key, entry)
  }

  #add(key: string, size: number): Entry<Value> | undefined {
    const weight = this.#options.weightOf(size)
    if (!this.#makeRoom(weight)) return undefined
    this.#weight += weight
    return { size, weight, users: 0, isUsed: true, sweeps: 0, value: this.#options.open(key, size) }
  }

  #makeRoom(weight: number): boolean {
    const { maxWeight } = this.#options
    const idle = [...this.#entries].filter(([, { users }]) => users === 0)
    const weightInUse = idle.reduce((rest, [, each]) => rest - each.weight, this.#weight)
    if (weightInUse + weight > maxWeight) return false
    for (const [key, entry] of idle) if (this.#weight + weight > maxWeight) this.#drop(key, entry)
    return true
  }

  #drop(key: string, { weight, value }: Entry<Value>): void {
    this.#entries.delete(key)
    this.#weight -= weight
    const close = (opened: Value | undefined) => opened !== undefined && this.#options.close?.(opened)
    // An error on opening was already reported to the caller of acquire.
    value.then(close, () => {})
  }
}
