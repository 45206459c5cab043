import type { Kysely } from 'kysely'
import { LRUCache } from 'lru-cache'
import { maxEntries } from '../lib/lru.ts'
import type { Tables } from '../tables.ts'
import { noteKeyUse } from './store.ts'

const noteEveryMs = 60_000
const maxKeys = 10_000

/** Stores when keys were last used, at most once a minute for each key. No request waits for it or fails with it. */
export class KeyUses {
  readonly #db: Kysely<Tables>
  readonly #notedAt = new LRUCache<string, number>(maxEntries(maxKeys))

  constructor(db: Kysely<Tables>) {
    this.#db = db
  }

  note(keyId: string, now: Date): void {
    const time = now.getTime()
    const notedAt = this.#notedAt.get(keyId)
    // The clock may have been set back.
    if (notedAt !== undefined && Math.abs(time - notedAt) < noteEveryMs) return
    this.#notedAt.set(keyId, time)
    // A time that was not stored is only the one of the last minute.
    noteKeyUse(this.#db, keyId, now).catch(() => {})
  }
}
