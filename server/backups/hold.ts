import { type Kysely, sql } from 'kysely'
import type { Pool, PoolClient } from 'pg'
import type { Db } from '../lib/db.ts'
import type { UnlessHeld } from '../lib/files/with-held-removals.ts'
import type { Tables } from '../tables.ts'
import { connect } from './database/connect.ts'
import { BackupError } from './errors.ts'

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

export type Lock = {
  /** Rejects if the lock is lost, because its connection has failed. */
  check(): Promise<void>
  release(): void
}

/** Undefined while another backup of this database runs. */
export async function lockBackups(pool: Pool): Promise<Lock | undefined> {
  const lock = await openLock(pool, `select pg_try_advisory_lock(${backups}) as "isLocked"`)
  if (lock.isLocked) return lock
  lock.release()
  return undefined
}

/** Waits for removals in progress. New ones are left to the sweep until the lock is released. */
export const holdRemovals = (pool: Pool): Promise<Lock> =>
  openLock(pool, `select pg_advisory_lock(${removals}), true as "isLocked"`)

async function openLock(pool: Pool, statement: string): Promise<Lock & { isLocked: boolean }> {
  const client = await connect(pool)
  // Closing the connection releases its locks.
  const release = () => client.release(true)
  try {
    const { rows } = await client.query<{ isLocked: boolean }>(statement)
    return { isLocked: rows[0]!.isLocked, check: () => checkConnection(client), release }
  } catch (error) {
    release()
    throw error
  }
}

async function checkConnection(client: PoolClient): Promise<void> {
  await client.query('select').catch((error) => {
    throw new BackupError('The connection to the database was lost: run the command again.', { cause: error })
  })
}
