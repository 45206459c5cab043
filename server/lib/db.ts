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
import { maxCounted, totalOf } from './paging.ts'

export type Connection =
  | string
  | { host: string; port: number; user: string; password?: string | undefined; database: string }

/** The first argument of every store function: the database or a transaction. */
export type Db<T> = Kysely<T> | Transaction<T>

/** A sentence about why the database cannot be used. */
export class DatabaseError extends Error {}

const minPostgresVersion = 15

export const connectionOptions = (connection: Connection): pg.ClientConfig =>
  typeof connection === 'string' ? { connectionString: connection } : connection

const preparedNames = new Map<string, string>()

/**
 * A prepared statement for frequent queries: each connection plans it once, and Kysely does not build it for each use.
 * Use it only for statements whose best plan does not depend on the values.
 */
export function prepare<Row>(name: string, text: string) {
  preparedNames.set(text, name)
  return async <T>(db: Db<T>, values: unknown[]): Promise<Row[]> =>
    (await db.executeQuery<Row>(CompiledQuery.raw(text, values))).rows
}

/** Adds the names of prepared statements, because Kysely sends statements without names. */
class PreparingClient extends pg.Client {
  override query(text: unknown, ...rest: unknown[]): never {
    const send = super.query.bind(this) as (...args: unknown[]) => unknown
    const name = typeof text === 'string' ? preparedNames.get(text) : undefined
    if (name === undefined) return send(text, ...rest) as never
    const [values, callback] = rest as [unknown[], Callback | undefined]
    // Set after construction: the driver copies a config object with a name, which takes longer than sending it.
    const query: NamedQuery = new pg.Query(text as string, values)
    query.name = name
    if (callback) return send(query, callback) as never
    return new Promise((resolve, reject) => {
      send(query, (error: Error | null, result: unknown) => (error ? reject(error) : resolve(result)))
    }) as never
  }
}

type Callback = (error: Error | null, result: unknown) => void
type NamedQuery = pg.Query & { name?: string }

/** Reads bigint as a number: 2^53 bytes are 8,000 TB, more than any count or size here. */
function getTypeParser(oid: number, format?: 'text' | 'binary') {
  return oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format as 'text')
}

/** A request that gets no connection within this time fails with 503. */
const defaultConnectTimeoutMs = 5_000

/** Timers fire at once after a longer time. */
const maxTimerMs = 2 ** 31 - 1

/** The parameter of libpq, in seconds, which pg ignores. */
function connectTimeoutMsOf(connection: Connection): number {
  const parameters = typeof connection === 'string' ? URL.parse(connection)?.searchParams : undefined
  const seconds = Number(parameters?.get('connect_timeout'))
  return seconds > 0 ? Math.min(seconds * 1_000, maxTimerMs) : defaultConnectTimeoutMs
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
  const pool = new pg.Pool({
    ...connectionOptions(connection),
    Client: PreparingClient,
    types: { getTypeParser } as pg.CustomTypesConfig,
    application_name: name,
    max,
    ...(onConnect && { onConnect }),
    connectionTimeoutMillis: connectTimeoutMsOf(connection),
    keepAlive: true,
  })
  // The pool replaces a broken idle connection, but without this listener the error would end the process. After `end`,
  // connections still exist for a moment, in which the embedded Postgres may stop.
  pool.on('error', (error) => {
    if (!pool.ending) onError(error)
  })
  // The pool does not listen to connections in use. If one breaks, the next query of its user fails.
  pool.on('connect', (client) => client.on('error', () => {}))
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

const unreachable = (error: unknown) =>
  new DatabaseError(`The database cannot be reached: ${messageOf(error)}.`, { cause: error })

export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return error.errors[0].message
  return error instanceof Error ? error.message : String(error)
}

const connectionErrors = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
])

/** Whether the error means that the database was unreachable, and not that the query was wrong. */
export function isUnreachable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = codeOf(error)
  // SQLSTATE 08: connection error; 57P: the server is stopping or starting; 53: out of connections, memory or disk;
  // 3D000: the database does not exist.
  if (connectionErrors.has(code) || /^(08|57P|53|3D000)/.test(code)) return true
  if (error instanceof AggregateError) return error.errors.some(isUnreachable)
  return connectionMessages.test(error.message)
}

/** Errors of pg and, in the last alternative, Kysely that have no code. */
const connectionMessages =
  /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Postgres connection has been discarded/

/** Whether waiting may help: the server restarts or does not run yet. A missing database is an error of the settings. */
export const isRestarting = (error: unknown): boolean => isUnreachable(error) && codeOf(error) !== '3D000'

/** SQLSTATE 57P: the server is stopping or starting, which takes minutes after a crash. */
const saysToWait = (error: unknown) => codeOf(error).startsWith('57P')

const codeOf = (error: unknown) =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''

const retryForMs = 60_000
const retryEveryMs = 100

/** Whether connecting timed out, which happens on a busy machine. */
export const isConnectTimeout = (error: unknown): boolean =>
  error instanceof Error &&
  /timeout expired|timeout exceeded when trying to connect|connection timeout/.test(error.message)

type Retries = {
  isRetryable(error: unknown): boolean
  onRetry?(error: unknown): void
  /** Ends the wait. */
  signal?: AbortSignal | undefined
}

/** Retries while the error or its cause is retryable, until a minute after the server last said to wait. */
export async function retryWhile<T>(
  { isRetryable, onRetry, signal }: Retries,
  work: () => Promise<T>,
): Promise<T> {
  let deadline = Date.now() + retryForMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const cause = error instanceof Error ? error.cause : undefined
      const found = [error, cause].find(isRetryable)
      if (found === undefined) throw error
      if (Date.now() > deadline) throw error instanceof DatabaseError ? error : unreachable(found)
      if (saysToWait(found)) deadline = Date.now() + retryForMs
      onRetry?.(found)
    }
    await delay(retryEveryMs, undefined, { signal })
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
