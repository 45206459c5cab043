import { type Kysely, sql } from 'kysely'
import type { Pool, PoolClient } from 'pg'
import type { Db } from '../lib/db.ts'
import type { UnlessHeld } from '../lib/files/with-held-removals.ts'
import type { Tables } from '../tables.ts'

/** Advisory locks. Postgres releases them when the connection of a killed process ends. */
const removals = `hashtextextended('kinora remove files', 0)`
const backups = `hashtextextended('kinora backup', 0)`

/** Every removal of files holds a shared lock, and a backup that copies files the exclusive one. */
export const createUnlessHeld =
  (db: Kysely<Tables>): UnlessHeld =>
  (work) =>
    db.connection().execute(async (connection) => {
      const lock = sql<{
        isLocked: boolean
      }>`select pg_try_advisory_lock_shared(${sql.raw(removals)}) as "isLocked"`
      if (!(await lock.execute(connection)).rows[0]?.isLocked) return false
      try {
        await work()
        return true
      } finally {
        await sql`select pg_advisory_unlock_shared(${sql.raw(removals)})`.execute(connection).catch(() => {})
      }
    })

/** Whether a backup copies files at the moment. */
export async function areRemovalsHeld(db: Db<Tables>): Promise<boolean> {
  const { rows } = await sql<{ isHeld: boolean }>`
    select exists (
      select from pg_locks
      where locktype = 'advisory' and mode = 'ExclusiveLock' and granted
        and database = (select oid from pg_database where datname = current_database())
        and (classid::bigint << 32 | objid::bigint) = ${sql.raw(removals)}
    ) as "isHeld"`.execute(db)
  return rows[0]!.isHeld
}

export type Lock = { release(): void }

/** Undefined while another backup of this database runs. */
export async function lockBackups(pool: Pool): Promise<Lock | undefined> {
  const client = await pool.connect()
  const { rows } = await client.query<{ isLocked: boolean }>(
    `select pg_try_advisory_lock(${backups}) as "isLocked"`,
  )
  if (rows[0]?.isLocked) return releasing(client)
  client.release()
  return undefined
}

/** Waits for removals in progress. New ones are left to the sweep until the lock is released. */
export async function holdRemovals(pool: Pool): Promise<Lock> {
  const client = await pool.connect()
  await client.query(`select pg_advisory_lock(${removals})`)
  return releasing(client)
}

/** Closing the connection releases its locks. */
const releasing = (client: PoolClient): Lock => ({ release: () => client.release(true) })
