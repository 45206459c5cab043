import { bar, drawOn, formatStatus, type Status } from './status.ts'

/**
 * What is shown of an upload: a bar for the bytes, with --watch one for each quality, and where to watch the video as soon
 * as it is playable. On a terminal, all of it is redrawn; elsewhere, changes of the encoding are appended.
 */
export class UploadView {
  readonly #name: string
  readonly #out: NodeJS.WriteStream
  readonly #draw: (text: string) => void
  readonly #startMs = Date.now()
  #firstDone: number | undefined
  #upload = ''
  #encoding = ''
  #watch = ''

  constructor(name: string, out: NodeJS.WriteStream) {
    this.#name = name
    this.#out = out
    this.#draw = drawOn(out)
  }

  showSent(done: number, total: number): void {
    this.#firstDone ??= done
    const seconds = Math.max(0.001, (Date.now() - this.#startMs) / 1000)
    const speed = ((done - this.#firstDone) / seconds / 1e6).toFixed(1)
    this.#upload = `${this.#name}  ${bar(done / total)} ${Math.floor((100 * done) / total)} %  ${speed} MB/s`
    this.#redraw()
  }

  /** While the file is sent, the status may still be that of a file that it replaces. */
  showStatus(status: Status, player: string): void {
    const { ingest, encoding } = status
    if (ingest?.status !== 'uploading' || encoding.qualities.length > 0) this.#encoding = formatStatus(status)
    if (encoding.playable && this.#watch === '') {
      this.#watch = `Watch: ${player}`
      if (!this.#out.isTTY) this.#out.write(`${this.#watch}\n`)
    }
    this.#redraw()
  }

  #redraw(): void {
    const { isTTY } = this.#out
    this.#draw(
      isTTY ? [this.#upload, this.#encoding, this.#watch].filter(Boolean).join('\n') : this.#encoding,
    )
  }
}
