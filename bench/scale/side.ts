import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Kysely } from 'kysely'
import pg from 'pg'
import type { Config } from '../../server/config.ts'
import { openDb, openPool } from '../../server/lib/db.ts'
import type { Files } from '../../server/lib/files/files.ts'
import { openFiles } from '../../server/lib/files/open.ts'
import { createLog, type Log } from '../../server/lib/log.ts'
import { migrate } from '../../server/migrations/migrate.ts'
import { readConfig } from '../../server/read-config.ts'
import type { Tables } from '../../server/tables.ts'
import { type Resources, startKinora, startPostgres } from '../servers.ts'
import type { Sizes } from './sizes.ts'

export const password = 'correct horse'

/** One of the two databases that are compared, with a service. It has no worker, which would do the waiting work. */
export type Side = {
  sizes: Sizes
  /** The data folder. */
  folder: string
  /** The settings of the service, and its URL. */
  env: Record<string, string>
  url: string
  client: pg.Client
  pool: pg.Pool
  db: Kysely<Tables>
  config: Config
  files: Files
  log: Log
}

/** Settings that make inserting many rows faster. A crash would destroy the database. */
const bulkSettings = {
  fsync: 'off',
  full_page_writes: 'off',
  // Rows of a table that was created in the same transaction are not written to the log.
  wal_level: 'minimal',
  max_wal_senders: '0',
  autovacuum: 'off',
  maintenance_work_mem: '512MB',
  max_wal_size: '4GB',
}

/** Creates a database, fills it, and starts a service on it. */
export async function openSide(
  resources: Resources,
  { folder, sizes }: { folder: string; sizes: Sizes },
  fill: (client: pg.Client, sizes: Sizes) => Promise<void>,
): Promise<Side> {
  if (!existsSync(filledFile(folder))) await createDatabase(folder, (client) => fill(client, sizes))
  const database = await resources.postgres(folder)
  const env = {
    KINORA_DATABASE_URL: database,
    KINORA_DATA_DIR: folder,
    KINORA_RATE_LIMITS: 'off',
    KINORA_ROLES: 'api',
    KINORA_ADMIN_PASSWORD: password,
  }
  const { url } = await resources.server(startKinora(folder, env))
  return { sizes, folder, env, url, ...(await connect(resources, database, readConfig(env))) }
}

const filledFile = (folder: string) => join(folder, 'filled')

async function createDatabase(folder: string, fill: (client: pg.Client) => Promise<void>): Promise<void> {
  const alter = Object.entries(bulkSettings).map(([name, value]) => `alter system set ${name} = '${value}'`)
  await withPostgres(folder, async (client) => {
    for (const statement of alter) await client.query(statement)
  })
  await withPostgres(folder, async (client, database) => {
    const db = openDb<Tables>(openPool(database, () => {}))
    await migrate(db, 'bench')
    await db.destroy()
    // Neither triggers nor checks of foreign keys.
    await client.query(`set session_replication_role = 'replica'`)
    await fill(client)
    await client.query('alter system reset all')
    await client.query('checkpoint')
  })
  await writeFile(filledFile(folder), '')
}

async function withPostgres(folder: string, work: (client: pg.Client, database: string) => Promise<void>) {
  const { url, close } = await startPostgres(folder)
  const client = new pg.Client(url)
  try {
    await client.connect()
    await work(client, url)
  } finally {
    await client.end()
    await close()
  }
}

async function connect(resources: Resources, database: string, config: Config) {
  const client = new pg.Client(database)
  await client.connect()
  const pool = openPool(database, () => {})
  const db = openDb<Tables>(pool)
  const files = await openFiles(config)
  resources.add(async () => {
    await files.close()
    await db.destroy()
    await client.end()
  })
  return { client, pool, db, config, files, log: createLog('silent', false) }
}

export const fileOf = ({ folder }: Side, key: string) => join(folder, 'files', key)
