import { type Kysely, type KyselyPlugin, sql, type Transaction } from 'kysely'
import type { Tables } from '../tables.ts'

/** Runs a read-only transaction whose statements together may take `timeoutMs`. */
export function readWithin<T>(
  db: Kysely<Tables>,
  timeoutMs: number,
  work: (trx: Transaction<Tables>) => Promise<T>,
): Promise<T> {
  return db
    .transaction()
    .setAccessMode('read only')
    .execute(async (trx) => {
      // Compiling a statement would take longer than running most of them.
      await sql`set local jit = off`.execute(trx)
      const deadline = performance.now() + timeoutMs
      await setTimeoutUntil(trx, deadline)
      return work(trx.withPlugin(renewTimeout(trx, deadline)))
    })
}

/** Postgres error code of a statement that exceeded its timeout. */
export const isTimeout = (error: unknown) =>
  error instanceof Error && 'code' in error && error.code === '57014'

/** Postgres limits each statement, so each one gets the time that the previous ones have left. */
const renewTimeout = (trx: Transaction<Tables>, deadline: number): KyselyPlugin => ({
  transformQuery: ({ node }) => node,
  async transformResult({ result }) {
    await setTimeoutUntil(trx, deadline)
    return result
  },
})

async function setTimeoutUntil(trx: Transaction<Tables>, deadline: number): Promise<void> {
  // At least one millisecond, because 0 means no limit.
  const leftMs = Math.max(1, Math.round(deadline - performance.now()))
  await sql`select set_config('statement_timeout', ${String(leftMs)}, true)`.execute(trx)
}
