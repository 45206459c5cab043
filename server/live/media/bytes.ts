/** Bytes in several buffers. They are copied into one only when someone needs that. */
export class Bytes {
  #buffers: readonly Buffer[]
  readonly length: number

  constructor(buffers: readonly Buffer[]) {
    this.#buffers = buffers
    this.length = buffers.reduce((sum, { length }) => sum + length, 0)
  }

  get buffers(): readonly Buffer[] {
    return this.#buffers
  }

  /** The memory that the buffers keep in use. Each may be a short piece of a large block. */
  get heldBytes(): number {
    const blocks = new Set(this.#buffers.map(({ buffer }) => buffer))
    return [...blocks].reduce((sum, { byteLength }) => sum + byteLength, 0)
  }

  /** All callers share one copy. */
  join(): Buffer {
    if (this.#buffers.length !== 1) this.#buffers = [Buffer.concat(this.#buffers, this.length)]
    return this.#buffers[0]!
  }
}
