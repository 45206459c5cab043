import { setTimeout as delay } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { maxEntries } from '../../lib/lru.ts'

/** Long enough to answer many viewers with one query. */
const freshMs = 1_000
/** While the database is unavailable, viewers continue with what is known for this long. */
const knownMs = 60_000
/** The database may hang instead of failing. */
const maxQueryMs = 1_000
const max = 10_000

/** Caches the results of a query by their keys for a moment, and for longer while the database is unavailable. */
export class QueryCache<T extends object> {
  readonly #query: (key: string) => Promise<T | undefined>
  readonly #fresh = new LRUCache<string, Promise<T | undefined>>({
    ...maxEntries(max),
    ttl: freshMs,
    ttlResolution: 0,
  })
  readonly #known = new LRUCache<string, T>({ ...maxEntries(max), ttl: knownMs, ttlResolution: 0 })

  constructor(query: (key: string) => Promise<T | undefined>) {
    this.#query = query
  }

  find(key: string): Promise<T | undefined> {
    const fresh = this.#fresh.get(key)
    if (fresh) return fresh
    const found = this.#load(key)
    this.#fresh.set(key, found)
    found.catch(() => {
      if (this.#fresh.peek(key) === found) this.#fresh.delete(key)
    })
    return found
  }

  /** The next `find` queries again. */
  refresh(key: string): void {
    this.#fresh.delete(key)
  }

  set(key: string, value: T | undefined): void {
    this.#fresh.set(key, Promise.resolve(value))
    this.#remember(key, value)
  }

  async #load(key: string): Promise<T | undefined> {
    const queried = this.#query(key).then((value) => this.#remember(key, value))
    const answered = new AbortController()
    const tooSlow = delay(maxQueryMs, undefined, { signal: answered.signal }).then(() => this.#known.get(key))
    tooSlow.catch(() => {})
    try {
      return (await Promise.race([queried, tooSlow])) ?? (await queried)
    } catch (error) {
      const known = this.#known.get(key)
      if (!known) throw error
      return known
    } finally {
      answered.abort()
    }
  }

  #remember(key: string, value: T | undefined): T | undefined {
    if (value) this.#known.set(key, value)
    else this.#known.delete(key)
    return value
  }
}
