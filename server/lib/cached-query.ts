import { isReachable } from './reachable.ts'

/** A result is used for this many times the duration of its query, so that the query runs for 1 % of the time at most. */
const reuseFactor = 99
/** Shorter after an error, which ends soon in most cases. */
const retryFactor = 9
const maxRetryMs = 300_000
/** A result that cannot be renewed is used for this much longer. */
const staleMs = 60_000
const staleFactor = 10

type Result<T> = { value: T; isDueAt: number; endsAt: number }

/**
 * The result of a query whose cost must not depend on how often it is asked for, nor grow with the database. All callers
 * share one query, and one that takes long runs rarely.
 */
export class CachedQuery<T> {
  readonly #query: () => Promise<T>
  readonly #minMs: number
  readonly #clock: () => number
  #running: Promise<void> | undefined
  #result: Result<T> | undefined
  /** The time of the next attempt after an error. */
  #retryAt = 0

  /** The result is used for at least `minMs`. */
  constructor(query: () => Promise<T>, minMs: number, clock = () => performance.now()) {
    this.#query = query
    this.#minMs = minMs
    this.#clock = clock
  }

  /**
   * Waits a few seconds for the query if the result is old, and returns the old one if that is not enough. Undefined if
   * the query has failed, or has no result yet.
   */
  async read(): Promise<T | undefined> {
    if (this.#clock() >= (this.#result?.isDueAt ?? this.#retryAt)) {
      this.#running ??= this.#run()
      await isReachable(this.#running)
    }
    return this.#result && this.#clock() < this.#result.endsAt ? this.#result.value : undefined
  }

  async #run(): Promise<void> {
    const startedAt = this.#clock()
    try {
      const value = await this.#query()
      const now = this.#clock()
      const tookMs = now - startedAt
      const isDueAt = now + Math.max(this.#minMs, reuseFactor * tookMs)
      this.#result = { value, isDueAt, endsAt: isDueAt + Math.max(staleMs, staleFactor * tookMs) }
    } catch {
      this.#result = undefined
      const now = this.#clock()
      this.#retryAt = now + Math.min(maxRetryMs, retryFactor * (now - startedAt))
    } finally {
      this.#running = undefined
    }
  }
}
