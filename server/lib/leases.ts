import { type RawBuilder, sql } from 'kysely'
import type { Db } from './db.ts'

/** A row that a worker has claimed. Another worker takes over when the lease ends without being renewed. */
export type Lease = { id: string; owner: string }

/** Workers renew their leases long before they end, so that a short pause of the process costs nothing. */
export const leaseMs = 15_000

const after = (ms: number): RawBuilder<Date> => sql`now() + ${ms} * interval '1 millisecond'`

/** Leases on the rows of a table with the columns `next_at`, `attempts`, `lease_owner` and `lease_until`. */
export function createLeases<T>(tableName: keyof T & string, keyColumn: string) {
  const table = sql.table(tableName)
  const key = sql.ref(keyColumn)
  return {
    /** The row that has waited longest among those that `condition` selects. A lost worker counts as a failed attempt. */
    async claim(db: Db<T>, owner: string, condition: RawBuilder<unknown>): Promise<Lease | undefined> {
      const { rows } = await sql<{ id: string }>`
        update ${table}
        set lease_owner = ${owner}, lease_until = ${after(leaseMs)},
          attempts = attempts + (lease_owner is not null)::integer
        where ${key} = (
          select ${key} from ${table}
          where (${condition}) and next_at <= now() and (lease_owner is null or lease_until < now())
          order by next_at limit 1 for update skip locked)
        returning ${key} as id`.execute(db)
      return rows[0] && { id: rows[0].id, owner }
    },

    /** False if the lease was lost: the row was deleted, its work was canceled, or another worker has it. */
    async renew(db: Db<T>, { id, owner }: Lease): Promise<boolean> {
      const { rows } = await sql`
        update ${table} set lease_until = ${after(leaseMs)}
        where ${key} = ${id} and lease_owner = ${owner} returning ${key}`.execute(db)
      return rows.length > 0
    },

    /** Ends the lease. The row can be claimed again after `afterMs`. */
    async release(
      db: Db<T>,
      { id, owner }: Lease,
      { afterMs, isFailure }: { afterMs: number; isFailure: boolean },
    ): Promise<void> {
      await sql`
        update ${table}
        set lease_owner = null, lease_until = null, next_at = ${after(afterMs)},
          attempts = attempts + ${isFailure ? 1 : 0}
        where ${key} = ${id} and lease_owner = ${owner}`.execute(db)
    },
  }
}

/** Calls `renew` until the lease is disposed, or lost because `renew` has returned false. */
export function keepLease(
  renew: () => Promise<boolean>,
  leaseMs: number,
): Disposable & { lost: AbortSignal } {
  const lost = new AbortController()
  const timer = setInterval(async () => {
    const isOurs = await renew().catch(() => true)
    if (!isOurs) lost.abort()
  }, leaseMs / 5)
  return { lost: lost.signal, [Symbol.dispose]: () => clearInterval(timer) }
}
