const roundToBytes = 256 * 1024

/**
 * Buffers that are used again, as long as any of them is in use. New ones for gigabytes of data would keep the garbage
 * collector busy. All together have at most `maxBytes`, except a single one that is larger.
 */
export class BufferPool {
  readonly #maxBytes: number
  readonly #free: Buffer[] = []
  #usedBytes = 0
  #freed = Promise.withResolvers<void>()

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Calls `work` with a buffer of the given size, which it must not use afterwards. Waits until there is room. */
  async use<T>(bytes: number, work: (buffer: Buffer) => Promise<T>): Promise<T> {
    const size = Math.ceil(bytes / roundToBytes) * roundToBytes
    while (this.#usedBytes > 0 && this.#usedBytes + size > this.#maxBytes) await this.#freed.promise
    const buffer = this.#take(size)
    try {
      return await work(buffer.subarray(0, bytes))
    } finally {
      this.#release(buffer)
    }
  }

  #take(size: number): Buffer {
    const i = this.#free.findIndex(({ length }) => length >= size)
    const [buffer = this.#allocate(size)] = i === -1 ? [] : this.#free.splice(i, 1)
    this.#usedBytes += buffer.length
    return buffer
  }

  #allocate(size: number): Buffer {
    const freeBytes = this.#free.reduce((sum, { length }) => sum + length, 0)
    if (this.#usedBytes + freeBytes + size > this.#maxBytes) this.#free.length = 0
    return Buffer.allocUnsafeSlow(size)
  }

  #release(buffer: Buffer): void {
    this.#usedBytes -= buffer.length
    this.#free.push(buffer)
    if (this.#usedBytes === 0) this.#free.length = 0
    this.#freed.resolve()
    this.#freed = Promise.withResolvers()
  }
}
