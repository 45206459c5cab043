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

export type Connection =
  | string
  | { host: string; port: number; user: string; password?: string | undefined; database: string }

/** What a store function needs: the database or a transaction of it. */
export type Db<T> = Kysely<T> | Transaction<T>

/** One helpful sentence about a database that cannot be used. */
export class DatabaseProblem extends Error {}

export const oldestPostgres = 15

export const connectionOptions = (connection: Connection): pg.ClientConfig =>
  typeof connection === 'string' ? { connectionString: connection } : connection

const preparedNames = new Map<string, string>()

/**
 * A statement that is sent often: each connection plans it once, and it is not put together anew for each use.
 * Only for statements whose best plan does not depend on the values.
 */
export function prepare<Row>(name: string, text: string) {
  preparedNames.set(text, name)
  return async <T>(db: Db<T>, values: unknown[]): Promise<Row[]> =>
    (await db.executeQuery<Row>(CompiledQuery.raw(text, values))).rows
}

/** Kysely sends statements without a name; those that were prepared get theirs here. */
class PreparingClient extends pg.Client {
  override query(text: unknown, ...rest: unknown[]): never {
    const send = super.query.bind(this) as (...args: unknown[]) => unknown
    const name = typeof text === 'string' ? preparedNames.get(text) : undefined
    if (name === undefined) return send(text, ...rest) as never
    const [values, callback] = rest as [unknown[], Callback | undefined]
    // Named afterwards: given an object with a name, the driver would spend more time on copying it than on sending.
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

/** Counts and sizes are numbers: 2^53 bytes are eight thousand terabytes. */
function getTypeParser(oid: number, format?: 'text' | 'binary') {
  return oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format as 'text')
}

export function openPool(connection: Connection, onError: (error: Error) => void): pg.Pool {
  const pool = new pg.Pool({
    ...connectionOptions(connection),
    Client: PreparingClient,
    types: { getTypeParser } as pg.CustomTypesConfig,
    application_name: 'kinora',
    max: 20,
    // A request that cannot get a connection in this time is answered 503 rather than kept waiting.
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  })
  // An idle connection that breaks is replaced by the pool; without a listener it would end the process.
  pool.on('error', onError)
  // One that breaks while a request has it fails that request's next query; the pool does not listen then.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

export const openDb = <T>(pool: pg.Pool) => new Kysely<T>({ dialect: new PostgresDialect({ pool }) })

/** Says in a sentence why a database does not fit, before anything is created in it. */
export async function checkServer<T>(db: Kysely<T>): Promise<void> {
  let row: { version: number; encoding: string } | undefined
  try {
    const result = await sql<{ version: number; encoding: string }>`
      select current_setting('server_version_num')::int as version,
             current_setting('server_encoding') as encoding`.execute(db)
    row = result.rows[0]
  } catch (error) {
    throw new DatabaseProblem(`The database cannot be reached: ${messageOf(error)}.`, { cause: error })
  }
  if (!row) throw new DatabaseProblem('The database does not tell its version.')
  const major = Math.floor(row.version / 10_000)
  if (major < oldestPostgres) {
    throw new DatabaseProblem(
      `The database is Postgres ${major}, and Kinora needs ${oldestPostgres} or newer: upgrade it, or unset KINORA_DATABASE_URL to use the embedded one.`,
    )
  }
  if (row.encoding !== 'UTF8') {
    throw new DatabaseProblem(
      `The database has the encoding ${row.encoding}, and Kinora needs UTF8: create one with "create database kinora encoding 'UTF8' template template0".`,
    )
  }
}

function messageOf(error: unknown): string {
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

/** Whether the database was out of reach, as against a fault in what we asked of it. */
export function isUnreachable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  // SQLSTATE 08: connection; 57P: the server is stopping or starting; 53: out of connections, memory or disk;
  // 3D000: there is no such database.
  if (connectionErrors.has(code) || /^(08|57P|53|3D000)/.test(code)) return true
  if (error instanceof AggregateError) return error.errors.some(isUnreachable)
  return /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error/.test(
    error.message,
  )
}

const reachableWithinMs = 60_000
const reachEveryMs = 100

/** Whether connecting took too long, as it does on a busy machine. */
export const isConnectTimeout = (error: unknown): boolean =>
  error instanceof Error &&
  /timeout expired|timeout exceeded when trying to connect|connection timeout/.test(error.message)

/** Does the work again while it fails in this way, for a minute at the most. */
export async function retryWhile<T>(
  hasFailedSo: (error: unknown) => boolean,
  work: () => Promise<T>,
): Promise<T> {
  const deadline = Date.now() + reachableWithinMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const cause = error instanceof Error ? error.cause : undefined
      if (!(hasFailedSo(error) || hasFailedSo(cause)) || Date.now() > deadline) throw error
    }
    await delay(reachEveryMs)
  }
}

const lockWithinMs = 5_000
const lockEveryMs = 100

/** Does the work while nobody else, in any process, does what has this name. False when somebody does not come to an end. */
export function exclusively<T>(db: Kysely<T>, name: string, work: () => Promise<void>): Promise<boolean> {
  return db.connection().execute(async (connection) => {
    const lock = sql`hashtextextended(${name}, 0)`
    const take = sql<{ isOurs: boolean }>`select pg_try_advisory_lock(${lock}) as "isOurs"`
    // Asked for again and again: who waits in the database cannot be told to give up.
    for (let waitedMs = 0; !(await take.execute(connection)).rows[0]?.isOurs; waitedMs += lockEveryMs) {
      if (waitedMs >= lockWithinMs) return false
      await delay(lockEveryMs)
    }
    try {
      await work()
      return true
    } finally {
      // It goes with its connection, if that is what failed.
      await sql`select pg_advisory_unlock(${lock})`.execute(connection).catch(() => {})
    }
  })
}

/** Postgres' code for a row that a unique index refuses. */
export const isDuplicate = (error: unknown) =>
  error instanceof Error && 'code' in error && error.code === '23505'

/** A page of what a query finds, chosen and sorted by `listed`, and of how many. */
export async function listPage<T, Table extends keyof T, Row>(
  found: SelectQueryBuilder<T, Table, object>,
  listed: (query: SelectQueryBuilder<T, Table, object>) => SelectQueryBuilder<T, Table, Row>,
  { pageSize, offset }: { pageSize: number; offset: number },
): Promise<{ rows: Row[]; total: number }> {
  const counted = found.select((eb) => eb.fn.countAll().as('total')).executeTakeFirstOrThrow()
  const [rows, { total }] = await Promise.all([
    listed(found).limit(pageSize).offset(offset).execute(),
    counted as Promise<unknown> as Promise<{ total: number }>,
  ])
  return { rows: rows as Row[], total }
}
