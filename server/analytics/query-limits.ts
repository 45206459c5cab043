import { type Kysely, type KyselyPlugin, sql, type Transaction } from 'kysely'
import type { Tables } from '../contracts/tables.ts'
import { createConcurrencyLimit } from '../lib/concurrency-limit.ts'
import { ApiError } from '../lib/errors.ts'

export type Read = <T>(work: (trx: Transaction<Tables>) => Promise<T>) => Promise<T>

/**
 * Reads over many rows: a few at once, and one that takes too long is ended by the database, so that wide periods
 * do not keep connections from everybody else. A page of a dashboard that takes longer has long been left. Made once
 * for all routes, whose reads take turns with each other.
 */
export function limitReads(
  db: Kysely<Tables>,
  { withinMs = 10_000, atOnce = 4, mostWaiting = 100 } = {},
): Read {
  const turns = createConcurrencyLimit(atOnce, mostWaiting)
  return async (work) => {
    const read = turns.run(() => readWithin(db, withinMs, work))
    if (!read) throw tooMuch('Too many such questions are being answered: ask again in a while.')
    return read
  }
}

async function readWithin<T>(
  db: Kysely<Tables>,
  withinMs: number,
  work: (trx: Transaction<Tables>) => Promise<T>,
): Promise<T> {
  try {
    return await db
      .transaction()
      .setAccessMode('read only')
      .execute(async (trx) => {
        // Compiling a statement would take longer than most of them run.
        await sql`set local jit = off`.execute(trx)
        const endsAt = performance.now() + withinMs
        await endAt(trx, endsAt)
        return work(trx.withPlugin(untilThen(trx, endsAt)))
      })
  } catch (error) {
    const isEnded = error instanceof Error && 'code' in error && error.code === '57014'
    if (!isEnded) throw error
    throw tooMuch('There is too much to count: ask for a shorter period, or for one video.', error)
  }
}

/** The database limits statements, not what several take together: each has what those before it have left. */
const untilThen = (trx: Transaction<Tables>, endsAt: number): KyselyPlugin => ({
  transformQuery: ({ node }) => node,
  async transformResult({ result }) {
    await endAt(trx, endsAt)
    return result
  },
})

/** One millisecond at the least, as none would be no limit. */
const endAt = (trx: Transaction<Tables>, endsAt: number) =>
  sql`select set_config('statement_timeout', ${String(Math.max(1, Math.round(endsAt - performance.now())))}, true)`.execute(
    trx,
  )

const tooMuch = (title: string, cause?: unknown) =>
  new ApiError('service-unavailable', { title, cause, headers: { 'retry-after': '30' } })
