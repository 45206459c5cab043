import { join } from 'node:path'
import { type Kysely, sql } from 'kysely'
import type { Pool } from 'pg'
import type { Config } from './config.ts'
import {
  type Connection,
  checkServer,
  isConnectTimeout,
  isRestarting,
  isUnreachable,
  messageOf,
  openDb,
  openPool,
  retryWhile,
} from './lib/db.ts'
import { LimitedReads, prepareForReads, readLimits } from './lib/limited-reads.ts'
import type { Log } from './lib/log.ts'
import { openEmbeddedPostgres } from './lib/postgres/open.ts'
import { migrate } from './migrations/migrate.ts'
import type { Tables } from './tables.ts'

export type Database = {
  connection: Connection
  pools: Pool[]
  db: Kysely<Tables>
  /** For requests with an API key. It has connections of its own, so that such requests cannot take those of viewers. */
  keyedDb: Kysely<Tables>
  /** For lists and analytics, which may read many rows. */
  reads: LimitedReads<Tables>
  /** For queries at start: retries while connecting times out, and while the database restarts. */
  retry<T>(work: () => Promise<T>): Promise<T>
  close(): Promise<void>
}

/**
 * How many connections a process opens at most: for viewers and jobs, and for requests with an API key. Up to ten jobs hold
 * a connection with a lock until they end.
 */
const connections = { all: 20, keyed: 8 }

const messageEveryMs = 5_000

/**
 * Opens the Postgres of the settings or the embedded one, and runs the migrations. With a signal, it waits for an
 * external Postgres that restarts, until the signal aborts. A command does not wait.
 */
export async function openDatabase(
  config: Pick<Config, 'databaseUrl' | 'dataDir'>,
  log: Log,
  signal?: AbortSignal,
): Promise<Database> {
  const embedded = config.databaseUrl
    ? undefined
    : await openEmbeddedPostgres({ folder: join(config.dataDir, 'postgres'), log })
  const connection = config.databaseUrl ?? embedded!.connection
  const open = (options: Parameters<typeof openPool>[2]) =>
    openPool(
      connection,
      ({ message }) => log.warn({ reason: message }, 'a database connection was lost'),
      options,
    )
  const pools = {
    all: open({ max: connections.all }),
    keyed: open({ name: 'kinora api', max: connections.keyed }),
    reads: open({
      name: 'kinora lists',
      max: readLimits.maxRunning,
      onConnect: (client) => prepareForReads(client),
    }),
  }
  const db = openDb<Tables>(pools.all)
  const close = async () => {
    for (const pool of Object.values(pools)) await pool.end()
    await embedded?.close()
  }
  const isTemporary = embedded ? isUnreachable : signal ? isRestarting : () => false
  const isRetryable = (error: unknown) => isConnectTimeout(error) || isTemporary(error)
  let nextMessage = 0
  const onRetry = (error: unknown) => {
    if (Date.now() < nextMessage) return
    nextMessage = Date.now() + messageEveryMs
    log.warn({ reason: messageOf(error) }, 'waiting for the database')
  }
  const retry: Database['retry'] = (work) => retryWhile({ isRetryable, onRetry, signal }, work)
  try {
    await retry(() => checkServer(db))
    await retry(() => migrate(db))
  } catch (error) {
    await close()
    throw error
  }
  return {
    connection,
    db,
    retry,
    close,
    pools: Object.values(pools),
    keyedDb: openDb<Tables>(pools.keyed),
    reads: new LimitedReads<Tables>(pools.reads, (pid) =>
      sql`select pg_terminate_backend(${pid})`.execute(db),
    ),
  }
}
