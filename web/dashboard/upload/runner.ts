import type { Entry } from './entry.ts'
import { judgeFailure } from './failure.ts'
import { forgetUploads } from './storage.ts'
import { startTransfer } from './transfer.ts'
import type { UploadList } from './upload-list.ts'

const maxAtOnce = 3

/** Starts uploads that wait, a few at once, and tries interrupted ones again. */
export class UploadRunner {
  readonly #list: UploadList

  constructor(list: UploadList) {
    this.#list = list
  }

  /** Starts as many uploads as possible. */
  pump(): void {
    const entries = this.#list.all()
    let free = maxAtOnce - entries.filter(({ view }) => view.state === 'uploading').length
    for (const entry of entries) {
      if (free <= 0) return
      if (entry.view.state !== 'waiting') continue
      free--
      this.#start(entry)
    }
  }

  /** Puts an upload back into the queue. */
  enqueue(entry: Entry): void {
    clearTimeout(entry.retryTimer)
    this.#list.change(entry, { state: 'waiting', needs: undefined, message: undefined })
    this.#list.save([entry])
  }

  /** Stops a transfer. Nothing of it changes the entry afterwards, except that the URL may become known. */
  async halt(entry: Entry): Promise<void> {
    const { stop } = entry
    entry.run++
    entry.stop = undefined
    clearTimeout(entry.retryTimer)
    await stop?.()
  }

  #start(entry: Entry): void {
    const run = ++entry.run
    const ifCurrent = (work: () => void) => entry.run === run && work()
    entry.meter.reset()
    this.#list.change(entry, { state: 'uploading', message: undefined })
    entry.stop = startTransfer(
      { ...entry.view, file: entry.file!, url: entry.url },
      {
        onCreated: (url, videoId) => {
          entry.url = url
          this.#list.change(entry, { videoId: videoId ?? entry.view.videoId })
          this.#list.save([entry])
        },
        onProgress: (sent) => ifCurrent(() => this.#onProgress(entry, sent)),
        onDone: () => ifCurrent(() => this.#onDone(entry)),
        onError: (error) => ifCurrent(() => this.#onError(entry, error)),
      },
    )
  }

  #onProgress(entry: Entry, sent: number): void {
    entry.failures = 0
    entry.meter.add(sent)
    const { bytesPerSecond } = entry.meter
    const secondsLeft = bytesPerSecond ? (entry.view.size - sent) / bytesPerSecond : undefined
    this.#list.changeOften(entry, { sent, bytesPerSecond, secondsLeft })
  }

  #onDone(entry: Entry): void {
    const { id, size } = entry.view
    // The browser can free the file.
    Object.assign(entry, { file: undefined, handle: undefined, stop: undefined })
    this.#list.change(entry, {
      state: 'processing',
      sent: size,
      bytesPerSecond: undefined,
      secondsLeft: undefined,
    })
    void forgetUploads([id])
    this.pump()
  }

  #onError(entry: Entry, error: Error): void {
    const { state, needs, message, retryMs, isGone } = judgeFailure(error, entry.failures++)
    entry.stop = undefined
    // Another attempt begins from the start.
    if (isGone) entry.url = undefined
    this.#list.change(entry, {
      state,
      needs,
      message,
      bytesPerSecond: undefined,
      secondsLeft: undefined,
      ...(isGone && { sent: 0, videoId: entry.view.target, encoded: undefined, isPlayable: false }),
    })
    if (state === 'failed') void forgetUploads([entry.view.id])
    if (retryMs !== undefined) entry.retryTimer = setTimeout(() => this.#retry(entry), retryMs)
    this.pump()
  }

  #retry(entry: Entry): void {
    if (entry.view.state !== 'interrupted') return
    this.enqueue(entry)
    this.pump()
  }
}
