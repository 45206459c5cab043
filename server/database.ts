import { statSync } from 'node:fs'
import { join } from 'node:path'
import { type Kysely, sql } from 'kysely'
import type { Pool } from 'pg'
import { checkRestored } from './backups/unfinished-restore.ts'
import type { Config } from './config.ts'
import { isBehindPooler } from './lib/database/client.ts'
import {
  DatabaseError,
  isConnectTimeout,
  isRestarting,
  isUnreachable,
  messageOf,
} from './lib/database/errors.ts'
import { openPools, type Pools } from './lib/database/pools.ts'
import { retryWhile } from './lib/database/retry.ts'
import { checkServer, exclusively, openDb } from './lib/db.ts'
import { LimitedReads, readLimits } from './lib/limited-reads.ts'
import type { Log } from './lib/log.ts'
import { recordVersion } from './lib/postgres/cluster.ts'
import { type EmbeddedPostgres, openEmbeddedPostgres } from './lib/postgres/open.ts'
import { backUpCluster } from './lib/postgres/upgrade-backup.ts'
import { readVersion } from './lib/version.ts'
import { migrate, readSchema, type SchemaState } from './migrations/migrate.ts'
import type { Tables } from './tables.ts'

export { migrateTo, migrationNames } from './migrations/migrate.ts'

export type Database = {
  pools: Pools
  db: Kysely<Tables>
  /** Its connections keep their session, for advisory locks. */
  locks: Kysely<Tables>
  /** For requests with an API key. It has connections of its own, so that such requests cannot take those of viewers. */
  keyedDb: Kysely<Tables>
  /** For lists and analytics, which may read many rows. */
  reads: LimitedReads<Tables>
  /** For queries at start: retries while connecting times out, and while the database restarts. */
  retry<T>(work: () => Promise<T>): Promise<T>
  close(): Promise<void>
}

const messageEveryMs = 5_000

/** A backup is made before an upgrade unless the setting turns it off. */
type DatabaseConfig = Pick<Config, 'databaseUrl' | 'dataDir'> &
  Partial<Pick<Config, 'upgradeBackup' | 'databaseConnections' | 'databaseDirectUrl'>>

/**
 * Opens the Postgres of the settings or the embedded one, and creates or upgrades the schema. With a signal, it waits for
 * an external Postgres that restarts, until the signal aborts. A command, which has no signal, neither waits nor upgrades.
 */
export async function openDatabase(
  config: DatabaseConfig,
  log: Log,
  signal?: AbortSignal,
): Promise<Database> {
  const embedded = config.databaseUrl
    ? undefined
    : await openEmbeddedPostgres({ folder: folderOf(config), log })
  const pools = openPools(
    {
      place: config.databaseUrl ?? embedded!.connection,
      directPlace: config.databaseUrl && config.databaseDirectUrl,
      maxConnections: config.databaseConnections,
    },
    ({ message }) => log.warn({ reason: message }, 'a database connection was lost'),
  )
  const db = openDb<Tables>(pools.all)
  const locks = openDb<Tables>(pools.locks)
  const close = async () => {
    await pools.close()
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
    if (pools.servers.isPooled) await retry(() => checkSameDatabase(db, locks))
    else if (signal && config.databaseUrl && (await retry(() => leadsToPooler(pools.all)))) {
      pools.servers.isPooled = true
      log.warn(
        'KINORA_DATABASE_URL leads to a connection pooler: set KINORA_DATABASE_DIRECT_URL, unless it is in session mode',
      )
    }
    await retry(() => checkRestored(db))
    await retry(() => provideSchema({ config, db: locks, embedded, log, signal }))
    if (embedded && signal) await recordVersion(folderOf(config), readVersion())
  } catch (error) {
    await close()
    throw error
  }
  return {
    pools,
    db,
    locks,
    retry,
    close,
    keyedDb: openDb<Tables>(pools.keyed),
    reads: new LimitedReads<Tables>(pools.lists, {
      terminate: (pid) => sql`select pg_terminate_backend(${pid})`.execute(db),
      limits: { ...readLimits, maxRunning: pools.connections.lists },
      isPooled: pools.servers.isPooled,
    }),
  }
}

/** Whether there may be a database. The first start creates an embedded one. */
export const hasDatabase = (config: Pick<Config, 'databaseUrl' | 'dataDir'>) =>
  config.databaseUrl !== undefined || statSync(folderOf(config), { throwIfNoEntry: false }) !== undefined

const folderOf = ({ dataDir }: Pick<Config, 'dataDir'>) => join(dataDir, 'postgres')

async function leadsToPooler(pool: Pool): Promise<boolean> {
  const client = await pool.connect()
  try {
    return await isBehindPooler(client)
  } finally {
    client.release()
  }
}

/** Locks and notifications of another database would have no effect. */
async function checkSameDatabase(...dbs: Kysely<Tables>[]): Promise<void> {
  const identify = sql<{
    id: string
  }>`select current_database() || ' since ' || pg_postmaster_start_time() as id`
  const [pooled, direct] = await Promise.all(dbs.map(async (db) => (await identify.execute(db)).rows[0]?.id))
  if (pooled !== direct)
    throw new DatabaseError('KINORA_DATABASE_URL and KINORA_DATABASE_DIRECT_URL lead to different databases.')
}

type Upgrade = {
  config: DatabaseConfig
  db: Kysely<Tables>
  embedded: EmbeddedPostgres | undefined
  log: Log
  signal: AbortSignal | undefined
}

async function provideSchema(upgrade: Upgrade): Promise<void> {
  const { db, embedded, log, signal } = upgrade
  const schema = await readSchema(db)
  const version = readVersion()
  switch (schema.state) {
    case 'current': {
      const { version: to, unknown } = schema
      if (unknown.length > 0 && signal) log.info({ to }, 'a newer version has upgraded the database')
      return
    }
    case 'empty':
      return await migrate(db, version)
    case 'newer':
      throw newerSchema(schema, version, upgrade)
    case 'older': {
      if (!signal) throw olderSchema(schema, version)
      if (embedded) return await upgradeEmbedded(upgrade, embedded, version)
      log.info(
        { from: schema.version, to: version },
        'upgrading the database: always back up your Postgres before you install a new version',
      )
      await migrate(db, version, waiting(upgrade))
    }
  }
}

const waiting = ({ log, signal }: Upgrade) => ({
  signal,
  onLocked: (migration: string) =>
    log.info({ migration }, 'waiting for a query, such as a backup, that uses a table to be changed'),
})

/** Other processes that start at the same time wait for the backup and the migrations. */
async function upgradeEmbedded(
  upgrade: Upgrade,
  { connection }: EmbeddedPostgres,
  version: string,
): Promise<void> {
  const { config, db, log, signal } = upgrade
  const work = async () => {
    const { state, version: previous } = await readSchema(db)
    if (state !== 'older') return
    const backups = join(config.dataDir, 'backups')
    if (config.upgradeBackup !== false)
      await backUpCluster({
        connection,
        folder: folderOf(config),
        backups,
        version,
        previous,
        log,
        signal: signal!,
      })
    await migrate(db, version, waiting(upgrade))
    log.info({ from: previous, to: version }, 'the database was upgraded')
  }
  while (!(await exclusively(db, 'kinora upgrade', work))) {
    signal?.throwIfAborted()
    log.info({}, 'waiting for another process that upgrades the database')
  }
}

function newerSchema(
  { version, unknown }: SchemaState,
  ownVersion: string,
  { config, embedded }: Upgrade,
): DatabaseError {
  const writer = version ? `Kinora ${version}` : 'a newer version of Kinora'
  const backup = embedded ? ` in ${join(config.dataDir, 'backups')}` : ''
  return new DatabaseError(
    `The database was upgraded by ${writer}, and this is Kinora ${ownVersion}, which does not know its schema ` +
      `(${unknown.join(', ')}): start ${version ? `version ${version}` : 'that version'} or a newer one. ` +
      `To go back to this version, restore the backup${backup} from before the upgrade, see docs/upgrades.md. ` +
      'Nothing was changed.',
  )
}

const olderSchema = ({ version }: SchemaState, ownVersion: string) =>
  new DatabaseError(
    `The database has the schema of ${version ? `Kinora ${version}` : 'an older version'}, and this is Kinora ${ownVersion}: ` +
      'start the service with this version, which upgrades the database, and repeat the command.',
  )
