import { type Kysely, sql, type Transaction } from 'kysely'
import type { Tables } from '../contracts/tables.ts'
import { ApiError } from '../lib/errors.ts'
import { createTurns } from '../lib/turns.ts'

export type Read = <T>(work: (trx: Transaction<Tables>) => Promise<T>) => Promise<T>

/**
 * Reads over many rows: a few at once, and one that takes too long is ended by the database, so that wide periods
 * do not keep connections from everybody else. A page of a dashboard that takes longer has long been left.
 */
export function limitReads(
  db: Kysely<Tables>,
  { withinMs = 10_000, atOnce = 4, mostWaiting = 100 } = {},
): Read {
  const turns = createTurns(atOnce, mostWaiting)
  return async (work) => {
    const read = turns.take(() => readWithin(db, withinMs, work))
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
        await sql`
          select set_config('statement_timeout', ${String(withinMs)}, true), set_config('jit', 'off', true)`.execute(
          trx,
        )
        return work(trx)
      })
  } catch (error) {
    const isEnded = error instanceof Error && 'code' in error && error.code === '57014'
    if (!isEnded) throw error
    throw tooMuch('There is too much to count: ask for a shorter period, or for one video.', error)
  }
}

const tooMuch = (title: string, cause?: unknown) =>
  new ApiError('service-unavailable', { title, cause, headers: { 'retry-after': '30' } })
