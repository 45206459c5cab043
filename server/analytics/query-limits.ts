import type { Kysely, Transaction } from 'kysely'
import { createConcurrencyLimit } from '../lib/concurrency-limit.ts'
import { ApiError, httpErrors } from '../lib/errors.ts'
import type { Tables } from '../tables.ts'
import { isTimeout, readWithin } from './read-store.ts'

export type Read = <T>(work: (trx: Transaction<Tables>) => Promise<T>) => Promise<T>

/**
 * Limits queries over many rows, so that long periods do not take all database connections: a few run at once, and
 * Postgres cancels the ones that take too long. All analytics routes share one limit.
 */
export function limitReads(
  db: Kysely<Tables>,
  { timeoutMs = 10_000, maxRunning = 4, maxQueued = 100 } = {},
): Read {
  const limit = createConcurrencyLimit(maxRunning, maxQueued)
  return async (work) => {
    const result = limit.run(() => readWithin(db, timeoutMs, work))
    if (!result) throw unavailable('Too many analytics queries are running. Try again later.')
    return result.catch((error) => {
      if (!isTimeout(error)) throw error
      throw unavailable('The query takes too long. Request a shorter period or a single video.', error)
    })
  }
}

const unavailable = (title: string, cause?: unknown) =>
  new ApiError(httpErrors.serviceUnavailable, { title, cause, headers: { 'retry-after': '30' } })
