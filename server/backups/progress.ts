/** What a command has done so far. */
export class Progress {
  files = 0
  bytes = 0
  copiedFiles = 0
  copiedBytes = 0
  readonly #report: (progress: Progress) => void

  constructor(report: (progress: Progress) => void = () => {}) {
    this.#report = report
  }

  addFile(bytes: number): void {
    this.files++
    this.bytes += bytes
    this.#report(this)
  }

  addCopied(): void {
    this.copiedFiles++
  }

  addBytes(bytes: number): void {
    this.copiedBytes += bytes
    this.#report(this)
  }

  /** Before the files are counted again. What was copied stays. */
  restart(): void {
    this.files = 0
    this.bytes = 0
  }
}
