import type { Db } from '../lib/db.ts'
import type { Tables } from '../tables.ts'
import { findStored, type Stored } from './store.ts'

/** Counting reads a large part of the database. */
const validMs = 60_000

/** What is stored, counted at most once a minute. */
export class StorageCount {
  readonly #db: Db<Tables>
  #last: { promise: Promise<Stored[]>; countedAt: number } | undefined

  constructor(db: Db<Tables>) {
    this.#db = db
  }

  find(): Promise<Stored[]> {
    const now = performance.now()
    if (!this.#last || now - this.#last.countedAt > validMs) {
      const count = { promise: findStored(this.#db), countedAt: now }
      this.#last = count
      count.promise.catch(() => {
        if (this.#last === count) this.#last = undefined
      })
    }
    return this.#last.promise
  }
}
