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

/**
 * Locks the parent table before the partition, in the order of queries, which would otherwise end in a deadlock. While a
 * drop waits for its lock, all later queries wait behind it, so it gives up early and is retried later. Postgres checks
 * for deadlocks after one second.
 */
export async function dropPartition(trx: Transaction<Tables>, partition: string): Promise<void> {
  await sql`set local lock_timeout = '500ms'`.execute(trx)
  const parent = partition.startsWith('viewing_sessions') ? 'viewing_sessions' : 'viewing_events'
  if (parent === 'viewing_sessions') await addToPastPlays(trx, partition)
  await sql`lock table only ${sql.table(parent)} in access exclusive mode`.execute(trx)
  await sql`drop table if exists ${sql.table(partition)}`.execute(trx)
}

/**
 * Keeps the total plays of each media. Sessions of deleted videos were deleted before. The lock prevents a late report
 * from being written between the count and the drop. Queries are not blocked by the count.
 */
async function addToPastPlays(trx: Transaction<Tables>, partition: string): Promise<void> {
  await sql`lock table ${sql.table(partition)} in share row exclusive mode`.execute(trx)
  await sql`
    insert into past_plays (media_id, environment, media_type, plays)
    select media_id, environment, media_type, sum(plays) from ${sql.table(partition)}
    where plays > 0 group by 1, 2, 3
    on conflict (media_id) do update set plays = past_plays.plays + excluded.plays`.execute(trx)
}

/** Postgres error codes of a lock timeout and of a deadlock. */
export const isLockUnavailable = (error: unknown) =>
  error instanceof Error && 'code' in error && (error.code === '55P03' || error.code === '40P01')
