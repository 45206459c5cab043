import type { Log } from '../../lib/log.ts'

const intervalMs = 1_000

/** Logs why connections were refused or ended. Callers that come in thousands add one line in a second. */
export class RefusalLog {
  readonly #log: Log
  /** Since the last line. */
  #connections = 0
  #lastReason = ''
  #timer: NodeJS.Timeout | undefined

  constructor(log: Log) {
    this.#log = log
  }

  add(reason: string): void {
    this.#connections++
    this.#lastReason = reason
    if (!this.#timer) this.#write()
  }

  #write(): void {
    this.#timer = undefined
    if (this.#connections === 0) return
    const counted = this.#connections > 1 && { connections: this.#connections }
    this.#log.info({ reason: this.#lastReason, ...counted }, 'live: a connection has ended')
    this.#connections = 0
    this.#timer = setTimeout(() => this.#write(), intervalMs).unref()
  }
}
