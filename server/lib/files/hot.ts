const MiB = 1024 * 1024
/** For all of them together, those included that slow readers are still taking. */
const mostBytes = 64 * MiB
/** What is larger is read as it is sent. */
const largestBytes = 4 * MiB

export type Held = { bytes: Buffer; release(): void }

type Entry = { size: number; holders: number; bytes: Promise<Buffer | undefined> }

/**
 * Files that many ask for at about the same time, as viewers do for a segment: read once, and sent to all of them from
 * the same bytes. Node cannot hand a file to a socket without copying it through its memory; this saves one of the two
 * copies, and all that opening costs.
 */
export class HotFiles {
  readonly #read: (key: string, size: number) => Promise<Buffer | undefined>
  readonly #mostBytes: number
  // A map keeps the order in which its keys were set: what was not asked for the longest comes first.
  readonly #entries = new Map<string, Entry>()
  #bytes = 0

  /** `read` gives undefined where the file is shorter than it should be. */
  constructor(read: (key: string, size: number) => Promise<Buffer | undefined>, most = mostBytes) {
    this.#read = read
    this.#mostBytes = most
  }

  /**
   * Undefined where the file is too large or there is no room: what is held cannot be dropped, and without a limit a
   * thousand slow viewers would hold a thousand files.
   */
  async hold(key: string, size: number): Promise<Held | undefined> {
    const entry = this.#entries.get(key) ?? this.#add(key, size)
    if (entry?.size !== size) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    entry.holders++
    let bytes: Buffer | undefined
    try {
      bytes = await entry.bytes
    } finally {
      if (!bytes) {
        entry.holders--
        if (this.#entries.get(key) === entry) this.#drop(key, entry)
      }
    }
    return bytes && { bytes, release: () => entry.holders-- }
  }

  #add(key: string, size: number): Entry | undefined {
    if (size > largestBytes || !this.#makeRoom(size)) return undefined
    this.#bytes += size
    return { size, holders: 0, bytes: this.#read(key, size) }
  }

  #makeRoom(size: number): boolean {
    for (const [key, entry] of this.#entries) {
      if (this.#bytes + size <= this.#mostBytes) return true
      if (entry.holders === 0) this.#drop(key, entry)
    }
    return this.#bytes + size <= this.#mostBytes
  }

  #drop(key: string, { size }: Entry): void {
    this.#entries.delete(key)
    this.#bytes -= size
  }
}
