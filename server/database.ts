import { join } from 'node:path'
import type { Kysely } from 'kysely'
import type { Pool } from 'pg'
import type { Config } from './config.ts'
import {
  type Connection,
  checkServer,
  isConnectTimeout,
  isUnreachable,
  openDb,
  openPool,
  retryWhile,
} from './lib/db.ts'
import type { Log } from './lib/log.ts'
import { openEmbeddedPostgres } from './lib/postgres/open.ts'
import { migrate } from './migrations/migrate.ts'
import type { Tables } from './tables.ts'

export type Database = {
  connection: Connection
  pool: Pool
  db: Kysely<Tables>
  /** For queries at start: retries while connecting times out, and while the embedded Postgres restarts after a crash. */
  retry<T>(work: () => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** Opens the Postgres of the settings or the embedded one, and runs the migrations. */
export async function openDatabase(
  config: Pick<Config, 'databaseUrl' | 'dataDir'>,
  log: Log,
): Promise<Database> {
  const embedded = config.databaseUrl
    ? undefined
    : await openEmbeddedPostgres({ folder: join(config.dataDir, 'postgres'), log })
  const connection = config.databaseUrl ?? embedded!.connection
  const pool = openPool(connection, ({ message }) =>
    log.warn({ reason: message }, 'a database connection was lost'),
  )
  const db = openDb<Tables>(pool)
  const close = async () => {
    await db.destroy()
    await embedded?.close()
  }
  const retry: Database['retry'] = (work) =>
    retryWhile((error) => isConnectTimeout(error) || (embedded !== undefined && isUnreachable(error)), work)
  try {
    await retry(() => checkServer(db))
    await retry(() => migrate(db))
  } catch (error) {
    await close()
    throw error
  }
  return { connection, pool, db, retry, close }
}
