import type { Readable } from 'node:stream'
import { checkSize, type Range } from '../source/range.ts'

/** The body of a chunk. It must not be longer than its range, or it would overwrite the next chunk. */
export class RangeBody implements AsyncIterable<Buffer> {
  readonly #body: Readable
  readonly #range: Range
  readonly #now: () => Date
  #waitingSince: number | undefined

  constructor(body: Readable, range: Range, now: () => Date) {
    this.#body = body
    this.#range = range
    this.#now = now
  }

  /** How long the next bytes of the client have been awaited. 0 while the disk is slower than the client. */
  waitingMs(): number {
    return this.#waitingSince === undefined ? 0 : this.#now().getTime() - this.#waitingSince
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    const range = this.#range
    let size = 0
    this.#waitingSince = this.#now().getTime()
    for await (const bytes of this.#body) {
      this.#waitingSince = undefined
      size += bytes.length
      if (range.form === 'bytes' && size > range.to - range.from + 1) checkSize(range, size)
      yield bytes
      this.#waitingSince = this.#now().getTime()
    }
    this.#waitingSince = undefined
  }
}
