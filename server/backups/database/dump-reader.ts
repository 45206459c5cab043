const newline = 0x0a
const endOfRows = Buffer.from('\\.\n')
const endAfterRow = Buffer.from('\n\\.\n')

/** Reads a dump: statements, each in a line, and the rows that follow some of them. */
export class DumpReader {
  readonly #chunks: AsyncIterator<Buffer>
  #rest: Buffer = Buffer.alloc(0)

  constructor(dump: AsyncIterable<Buffer>) {
    this.#chunks = dump[Symbol.asyncIterator]()
  }

  /** Without its newline. Undefined at the end. */
  async readLine(): Promise<string | undefined> {
    for (;;) {
      const end = this.#rest.indexOf(newline)
      if (end >= 0) {
        const line = this.#rest.toString('utf8', 0, end)
        this.#rest = this.#rest.subarray(end + 1)
        return line
      }
      if (await this.#readMore()) continue
      if (this.#rest.length > 0) throw new Error('the dump ends within a line')
      return undefined
    }
  }

  /** The bytes up to the line `\.`, which ends the rows. Rows contain no newline, because values are escaped. */
  async *readRows(): AsyncGenerator<Buffer> {
    while (this.#rest.length < endOfRows.length) if (!(await this.#readMore())) throw incomplete()
    if (this.#rest.subarray(0, endOfRows.length).equals(endOfRows)) {
      this.#rest = this.#rest.subarray(endOfRows.length)
      return
    }
    for (;;) {
      const end = this.#rest.indexOf(endAfterRow)
      if (end >= 0) {
        yield this.#rest.subarray(0, end + 1)
        this.#rest = this.#rest.subarray(end + endAfterRow.length)
        return
      }
      // The end may be split between two chunks.
      const safe = Math.max(0, this.#rest.length - endAfterRow.length + 1)
      if (safe > 0) yield this.#rest.subarray(0, safe)
      this.#rest = this.#rest.subarray(safe)
      if (!(await this.#readMore())) throw incomplete()
    }
  }

  async #readMore(): Promise<boolean> {
    const { done, value } = await this.#chunks.next()
    if (done) return false
    this.#rest = this.#rest.length > 0 ? Buffer.concat([this.#rest, value]) : value
    return true
  }
}

const incomplete = () => new Error('the dump ends within the rows of a table')
