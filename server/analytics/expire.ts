import { sql, type Transaction } from 'kysely'
import type { Config } from '../config.ts'
import type { Context } from '../context.ts'
import type { Tables } from '../tables.ts'
import { dayOf, startOfDay } from './session-id.ts'
import { forgetSessions } from './session-reads.ts'
import { isPartitionMissing, makePartitions } from './session-store.ts'

const daysAhead = 2

/** Makes the partitions of the next days, and drops those that are too old. */
export async function keepPartitions({
  db,
  config,
  log,
  now,
}: Pick<Context, 'db' | 'log' | 'now'> & { config: Pick<Config, 'analyticsDays'> }): Promise<void> {
  const today = dayOf(now().getTime())
  await makePartitions(
    db,
    Array.from({ length: daysAhead + 1 }, (_, ahead) => today + ahead),
  )
  if (config.analyticsDays === 0) return
  const oldest = startOfDay(today - config.analyticsDays)
    .toISOString()
    .slice(0, 10)
    .replaceAll('-', '')
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent in ('viewing_sessions'::regclass, 'viewing_events'::regclass)
    order by relname`.execute(db)
  for (const { name } of rows.filter(({ name }) => name.slice(-8) < oldest)) {
    try {
      await db.transaction().execute((trx) => drop(trx, name))
    } catch (error) {
      // Another process has dropped it.
      if (isPartitionMissing(error)) continue
      if (!isInUse(error)) throw error
      log.warn({ partition: name }, 'an old partition is in use, dropping it later')
    }
  }
}

async function drop(trx: Transaction<Tables>, partition: string): Promise<void> {
  // Everybody who comes after a waiting drop waits with it: it is tried again later instead.
  await sql`set local lock_timeout = '1s'`.execute(trx)
  if (partition.startsWith('viewing_sessions')) await keepPlays(trx, partition)
  await sql`drop table if exists ${sql.table(partition)}`.execute(trx)
}

/** Postgres' words for a lock that did not come in time, and for one that would never have. */
const isInUse = (error: unknown) =>
  error instanceof Error && 'code' in error && (error.code === '55P03' || error.code === '40P01')

/** Those of deleted videos are gone before. The lock keeps a late report from being lost between counting and dropping. */
async function keepPlays(trx: Transaction<Tables>, partition: string): Promise<void> {
  await sql`lock table ${sql.table(partition)} in access exclusive mode`.execute(trx)
  await sql`
    insert into past_plays (media_id, environment, media_type, plays)
    select media_id, environment, media_type, sum(plays) from ${sql.table(partition)}
    where plays > 0 group by 1, 2, 3
    on conflict (media_id) do update set plays = past_plays.plays + excluded.plays`.execute(trx)
}

export async function deleteOldSandboxSessions({
  db,
  config,
  now,
}: Pick<Context, 'db' | 'config' | 'now'>): Promise<void> {
  const { hours } = config.sandbox
  if (hours === 0) return
  const loadedBefore = new Date(now().getTime() - hours * 3_600_000)
  await forgetSessions(db, { environment: 'sandbox', loadedBefore })
}
