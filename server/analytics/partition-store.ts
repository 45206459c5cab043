import { sql, type Transaction } from 'kysely'
import type { Db } from '../lib/db.ts'
import type { Tables } from '../tables.ts'

/** The names of all partitions of sessions and events; each ends with its date as `20260102`. */
export async function listPartitions(db: Db<Tables>): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent in ('viewing_sessions'::regclass, 'viewing_events'::regclass)
    order by relname`.execute(db)
  return rows.map(({ name }) => name)
}

export async function dropPartition(trx: Transaction<Tables>, partition: string): Promise<void> {
  // While a drop waits for its lock, all later queries wait behind it. It is better to give up and retry later.
  await sql`set local lock_timeout = '1s'`.execute(trx)
  if (partition.startsWith('viewing_sessions')) await addToPastPlays(trx, partition)
  await sql`drop table if exists ${sql.table(partition)}`.execute(trx)
}

/**
 * Keeps the total plays of each media. Sessions of deleted videos were deleted before. The lock prevents a late report
 * from being written between the count and the drop.
 */
async function addToPastPlays(trx: Transaction<Tables>, partition: string): Promise<void> {
  await sql`lock table ${sql.table(partition)} in access exclusive mode`.execute(trx)
  await sql`
    insert into past_plays (media_id, environment, media_type, plays)
    select media_id, environment, media_type, sum(plays) from ${sql.table(partition)}
    where plays > 0 group by 1, 2, 3
    on conflict (media_id) do update set plays = past_plays.plays + excluded.plays`.execute(trx)
}

/** Postgres error codes of a lock timeout and of a deadlock. */
export const isLockUnavailable = (error: unknown) =>
  error instanceof Error && 'code' in error && (error.code === '55P03' || error.code === '40P01')
