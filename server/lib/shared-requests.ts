import { randomUUID } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { Log } from './log.ts'
import type { CountedRequests, RequestCounter } from './request-counter.ts'

const channel = 'kinora_requests'
const announceEveryMs = 500
/** A notification has at most 8,000 bytes, and an entry about 30. */
const maxEntries = 200

type QueryExecutor = Pick<Kysely<unknown>, 'getExecutor'>
type Announcement = { from: string; counted: CountedRequests[] }

/**
 * Makes the rate limits apply to all processes together: each one announces the requests that it has counted, twice a
 * second. While the database is unavailable, each process counts for itself.
 */
export class SharedRequests {
  readonly #id = randomUUID()
  readonly #counter: RequestCounter
  readonly #db: QueryExecutor
  readonly #log: Log
  readonly #timer: NodeJS.Timeout
  #announcing: Promise<void> | undefined

  constructor(counter: RequestCounter, { db, log }: { db: QueryExecutor; log: Log }) {
    this.#counter = counter
    this.#db = db
    this.#log = log
    this.#timer = setInterval(() => {
      this.#announcing ??= this.#announce().finally(() => {
        this.#announcing = undefined
      })
    }, announceEveryMs).unref()
  }

  readonly channels = {
    [channel]: (payload?: string) => {
      if (!payload) return
      const { from, counted } = JSON.parse(payload) as Announcement
      if (from !== this.#id) this.#counter.add(counted)
    },
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#announcing
  }

  async #announce(): Promise<void> {
    const counted = this.#counter.takeCounted(maxEntries)
    if (counted.length === 0) return
    const payload: Announcement = { from: this.#id, counted }
    try {
      await sql`select pg_notify(${channel}, ${JSON.stringify(payload)})`.execute(this.#db)
    } catch (err) {
      this.#log.debug({ err }, 'requests could not be announced to other processes')
    }
  }
}
