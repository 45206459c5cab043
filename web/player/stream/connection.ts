const maxRetryMs = 15_000

/** The delay before a retry, after this many retries. Random, so that viewers do not all return at the same moment. */
export const retryDelayMs = (retries: number, random = Math.random()) =>
  Math.min(maxRetryMs, 1000 * 2 ** retries) * (0.75 + random / 2)

/** Whether a retry would get the same response, unlike from a server that is overloaded or restarting. */
export const isRejection = (status: number) =>
  status >= 400 && status < 500 && status !== 408 && status !== 429

type Request = { stats: { loaded: number } }

/** Measures how long requests have brought no data. */
export class DataWatch {
  readonly #requests = new Set<Request>()
  #hasFailed = false
  #successes = 0
  #lastProgress = ''
  #sinceMs = 0

  start(request: Request): void {
    this.#requests.add(request)
  }

  succeed(request: Request): void {
    this.#requests.delete(request)
    this.#hasFailed = false
    this.#successes++
  }

  /** It will be retried. */
  fail(request: Request): void {
    this.#requests.delete(request)
    this.#hasFailed = true
  }

  cancel(request: Request): void {
    this.#requests.delete(request)
  }

  /** 0 if nothing is requested. Compares with the previous call, so it must be called regularly. */
  silentMs(nowMs: number): number {
    const bytes = [...this.#requests].reduce((sum, { stats }) => sum + stats.loaded, 0)
    const progress = `${this.#successes} ${bytes}`
    const isWaiting = this.#requests.size > 0 || this.#hasFailed
    if (!isWaiting || progress !== this.#lastProgress) this.#sinceMs = nowMs
    this.#lastProgress = progress
    return nowMs - this.#sinceMs
  }
}
