import { setTimeout as delay } from 'node:timers/promises'
import {
  CompiledQuery,
  Kysely,
  PostgresDialect,
  type SelectQueryBuilder,
  sql,
  type Transaction,
} from 'kysely'
import pg from 'pg'
import { preparedNames } from './database/client.ts'
import { DatabaseError, unreachable } from './database/errors.ts'
import { DatabasePool } from './database/pool.ts'
import { type Connection, serversOf } from './database/servers.ts'
import { maxCounted, totalOf } from './paging.ts'

/** The first argument of every store function: the database or a transaction. */
export type Db<T> = Kysely<T> | Transaction<T>

const minPostgresVersion = 15

/**
 * A prepared statement for frequent queries: each connection plans it once, and Kysely does not build it for each use.
 * Use it only for statements whose best plan does not depend on the values.
 */
export function prepare<Row>(name: string, text: string) {
  preparedNames.set(text, name)
  return async <T>(db: Db<T>, values: unknown[]): Promise<Row[]> =>
    (await db.executeQuery<Row>(CompiledQuery.raw(text, values))).rows
}

/** Reads bigint as a number: 2^53 bytes are 8,000 TB, more than any count or size here. */
function getTypeParser(oid: number, format?: 'text' | 'binary') {
  return oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format as 'text')
}

type PoolOptions = {
  /** What the connections are for, as Postgres shows it in pg_stat_activity. */
  name?: string
  /** The most connections that are open at once. */
  max?: number
  /** Called for each new connection before its first use. */
  onConnect?: (client: pg.ClientBase) => Promise<void>
}

export function openPool(
  connection: Connection,
  onError: (error: Error) => void,
  { name = 'kinora', max = 12, onConnect }: PoolOptions = {},
): pg.Pool {
  const pool = new DatabasePool(serversOf(connection), {
    types: { getTypeParser } as pg.CustomTypesConfig,
    application_name: name,
    max,
    ...(onConnect && { onConnect }),
  })
  // The pool replaces a broken idle connection, but without this listener the error would end the process. After `end`,
  // connections still exist for a moment, in which the embedded Postgres may stop.
  pool.on('error', (error) => {
    if (!pool.ending) onError(error)
  })
  return pool
}

export const openDb = <T>(pool: pg.Pool) => new Kysely<T>({ dialect: new PostgresDialect({ pool }) })

/** Checks the version and the encoding before anything is created in the database. */
export async function checkServer<T>(db: Kysely<T>): Promise<void> {
  let row: { version: number; encoding: string } | undefined
  try {
    const result = await sql<{ version: number; encoding: string }>`
      select current_setting('server_version_num')::int as version,
             current_setting('server_encoding') as encoding`.execute(db)
    row = result.rows[0]
  } catch (error) {
    throw unreachable(error)
  }
  if (!row) throw new DatabaseError('The database does not report its version.')
  const major = Math.floor(row.version / 10_000)
  if (major < minPostgresVersion) {
    throw new DatabaseError(
      `The database is Postgres ${major}, but Kinora needs ${minPostgresVersion} or newer: upgrade it, or unset KINORA_DATABASE_URL to use the embedded Postgres.`,
    )
  }
  if (row.encoding !== 'UTF8') {
    throw new DatabaseError(
      `The database has the encoding ${row.encoding}, but Kinora needs UTF8: create a database with "create database kinora encoding 'UTF8' template template0".`,
    )
  }
}

const lockTimeoutMs = 5_000
const lockEveryMs = 100

/** Runs the work while it holds an advisory lock. Returns false if another process does not release the lock in time. */
export function exclusively<T>(db: Kysely<T>, name: string, work: () => Promise<void>): Promise<boolean> {
  return db.connection().execute(async (connection) => {
    const lock = sql`hashtextextended(${name}, 0)`
    const tryLock = sql<{ isLocked: boolean }>`select pg_try_advisory_lock(${lock}) as "isLocked"`
    // Polls, because a query that waits for a lock in the database cannot be aborted.
    for (let waitedMs = 0; !(await tryLock.execute(connection)).rows[0]?.isLocked; waitedMs += lockEveryMs) {
      if (waitedMs >= lockTimeoutMs) return false
      await delay(lockEveryMs)
    }
    try {
      await work()
      return true
    } finally {
      // If the connection failed, Postgres has released the lock.
      await sql`select pg_advisory_unlock(${lock})`.execute(connection).catch(() => {})
    }
  })
}

/** Matches any part of the text. The wildcards of LIKE are escaped. */
export const containing = (part: string) => `%${part.replaceAll(/[\\%_]/g, '\\$&')}%`

/** One page of the rows of a query, and their total number. `listed` adds the columns and the order. */
export async function listPage<T, Table extends keyof T, Row>(
  db: Db<T>,
  found: SelectQueryBuilder<T, Table, object>,
  listed: (query: SelectQueryBuilder<T, Table, object>) => SelectQueryBuilder<T, Table, Row>,
  { pageSize, offset }: { pageSize: number; offset: number },
): Promise<{ rows: Row[]; total: number }> {
  // One more shows whether there is another page.
  const rows = await listed(found)
    .limit(pageSize + 1)
    .offset(offset)
    .execute()
  const total = totalOf(await countRows(db, found), { offset }, rows.length)
  return { rows: rows.slice(0, pageSize) as Row[], total }
}

/** Counts up to one more than `maxCounted`. */
export async function countRows<T, Table extends keyof T>(
  db: Db<T>,
  found: SelectQueryBuilder<T, Table, object>,
): Promise<number> {
  const counted = found.select(sql<number>`1`.as('one')).limit(maxCounted + 1)
  const { rows } = await sql<{
    total: number
  }>`select count(*) as total from (${counted}) as counted`.execute(db)
  return rows[0]!.total
}
