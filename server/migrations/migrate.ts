import { setTimeout as delay } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import { Migrator } from 'kysely/migration'
import * as accounts from './0001_accounts.ts'
import * as videos from './0002_videos.ts'
import * as sources from './0003_sources.ts'
import * as pieces from './0004_pieces.ts'
import * as encodings from './0005_encodings.ts'
import * as webhooks from './0006_webhooks.ts'
import * as privacy from './0007_private.ts'
import * as pictures from './0008_pictures.ts'
import * as players from './0009_players.ts'
import * as analytics from './0010_analytics.ts'
import * as uploadOwners from './0011_upload_owners.ts'
import * as sweep from './0012_sweep.ts'
import * as leaseNames from './0013_lease_names.ts'
import * as textTracks from './0014_text_tracks.ts'
import * as watermarks from './0015_watermarks.ts'
import * as discardedVideos from './0016_discarded_videos.ts'
import * as transcripts from './0017_transcripts.ts'
import * as summaries from './0018_summaries.ts'
import * as videoSize from './0019_video_size.ts'
import * as liveStreams from './0020_live_streams.ts'
import * as broadcasts from './0021_broadcasts.ts'
import * as dashboard from './0022_dashboard.ts'
import * as videoSearch from './0023_video_search.ts'
import * as mp4Size from './0024_mp4_size.ts'
import * as videoText from './0025_video_text.ts'
import * as liveNumbers from './0026_live_numbers.ts'
import * as listIndexes from './0027_list_indexes.ts'
import * as encodingRevisions from './0028_encoding_revisions.ts'

import * as backups from './0029_backups.ts'

import * as certificates from './0030_certificates.ts'

import * as storageAndProcesses from './0032_storage_and_processes.ts'
import * as schemaVersions from './0033_schema_versions.ts'
import * as finishedAndFailed from './0034_finished_and_failed.ts'
import * as encodingEnds from './0035_encoding_ends.ts'
import * as liveFrames from './0036_live_frames.ts'
import * as requiredMigrations from './0037_required_migrations.ts'
import * as webhookTypes from './0038_webhook_types.ts'
import * as visibilityChanges from './0039_visibility_changes.ts'
import * as unfinishedVideos from './0040_unfinished_videos.ts'
import * as earlyEncoding from './0041_early_encoding.ts'
import * as imports from './0042_imports.ts'
import * as srtPassphrase from './0043_srt_passphrase.ts'
import * as studioTokens from './0044_studio_tokens.ts'
import * as importFetchSpeed from './0045_import_fetch_speed.ts'
import * as studioTokenIds from './0046_studio_token_ids.ts'

/** In this order. Released migrations are never edited. */
const migrations = {
  '0001_accounts': accounts,
  '0002_videos': videos,
  '0003_sources': sources,
  '0004_pieces': pieces,
  '0005_encodings': encodings,
  '0006_webhooks': webhooks,
  '0007_private': privacy,
  '0008_pictures': pictures,
  '0009_players': players,
  '0010_analytics': analytics,
  '0011_upload_owners': uploadOwners,
  '0012_sweep': sweep,
  '0013_lease_names': leaseNames,
  '0014_text_tracks': textTracks,
  '0015_watermarks': watermarks,
  '0016_discarded_videos': discardedVideos,
  '0017_transcripts': transcripts,
  '0018_summaries': summaries,
  '0019_video_size': videoSize,
  '0020_live_streams': liveStreams,
  '0021_broadcasts': broadcasts,
  '0022_dashboard': dashboard,
  '0023_video_search': videoSearch,
  '0024_mp4_size': mp4Size,
  '0025_video_text': videoText,
  '0026_live_numbers': liveNumbers,
  '0027_list_indexes': listIndexes,
  '0028_encoding_revisions': encodingRevisions,
  '0029_backups': backups,
  '0030_certificates': certificates,
  '0032_storage_and_processes': storageAndProcesses,
  '0033_schema_versions': schemaVersions,
  '0034_finished_and_failed': finishedAndFailed,
  '0035_encoding_ends': encodingEnds,
  '0036_live_frames': liveFrames,
  '0037_required_migrations': requiredMigrations,
  '0038_webhook_types': webhookTypes,
  '0039_visibility_changes': visibilityChanges,
  '0040_unfinished_videos': unfinishedVideos,
  '0041_early_encoding': earlyEncoding,
  '0042_imports': imports,
  '0043_srt_passphrase': srtPassphrase,
  '0044_studio_tokens': studioTokens,
  '0045_import_fetch_speed': importFetchSpeed,
  '0046_studio_token_ids': studioTokenIds,
}

/**
 * A migration is an expansion, which processes that do not know it can run with, unless it has `requires`. Then it is a
 * contraction: it removes what only processes use that do not know the migration `requires`.
 */
type Migration = {
  up(db: Kysely<unknown>): Promise<void>
  requires?: string
  /** The tables and views of earlier migrations that it changes, or that nobody may write to while it runs. */
  locks?: string[]
}

const allMigrations: Record<string, Migration> = migrations

/** Earlier migrations do not follow the rule, and earlier versions do not know it. */
const firstRequired = '0037_required_migrations'

/** What a program has to know to use the schema of this version. */
const required = Object.values(allMigrations)
  .map(({ requires = firstRequired }) => requires)
  .sort()
  .at(-1)!

export type SchemaState = {
  /** `newer`: a newer version of Kinora ran migrations that this one does not have, and cannot run with. */
  state: 'empty' | 'older' | 'current' | 'newer'
  /** The migrations that this version does not have. */
  unknown: string[]
  /** The version of Kinora that ran the last migrations. Versions before 0.2.0 did not record theirs. */
  version: string | undefined
}

/** Compares the migrations of the database with those of this version. Changes nothing. */
export async function readSchema<T>(db: Kysely<T>): Promise<SchemaState> {
  // One short query, because the migrator reads the definition of every table, which delays the start.
  const applied = await rowsOf(sql<{ name: string }>`select name from kysely_migration`.execute(db))
  const names = new Set(applied.map(({ name }) => name))
  const known = Object.keys(migrations)
  const unknown = [...names].filter((name) => !known.includes(name)).sort()
  if (names.size === 0) return { state: 'empty', unknown, version: undefined }
  const isComplete = known.every((name) => names.has(name))
  if (isComplete && unknown.length === 0) return { state: 'current', unknown, version: undefined }
  const { version, requires } = await readWriter(db)
  if (unknown.length === 0) return { state: 'older', unknown, version }
  const canUse = isComplete && requires !== null && known.includes(requires)
  return { state: canUse ? 'current' : 'newer', unknown, version }
}

/** The version that ran the last migrations, and what it requires. */
async function readWriter<T>(
  db: Kysely<T>,
): Promise<{ version: string | undefined; requires: string | null }> {
  type Row = { version: string; requires?: string | null }
  const rows = await rowsOf(
    sql<Row>`select * from schema_versions order by migration desc limit 1`.execute(db),
  )
  return { version: rows[0]?.version, requires: rows[0]?.requires ?? null }
}

/** No rows if the table does not exist. */
const rowsOf = <Row>(query: Promise<{ rows: Row[] }>): Promise<Row[]> =>
  query.then(
    ({ rows }) => rows,
    (error) => {
      if (error.code === undefinedTable) return []
      throw error
    },
  )

const undefinedTable = '42P01'

/**
 * A migration that waits for a table makes everything wait that comes after it. It gives up earlier than Postgres looks
 * for deadlocks (1 s), which may end the transaction of a running process instead.
 */
const lockTimeoutMs = 500
/** The locks were not available, or a deadlock was ended. */
const lockErrors = ['55P03', '57014', '40P01']
const retryAfterMs = 2_000

/**
 * Runs the missing migrations in one transaction, and records the version of Kinora in it. A lock serializes processes
 * that start at the same time. While a long query uses a table, it tries again, and other processes continue meanwhile.
 */
export async function migrate<T>(
  db: Kysely<T>,
  version: string,
  { signal, onLocked }: { signal?: AbortSignal | undefined; onLocked?: (migration: string) => void } = {},
): Promise<void> {
  const last = Object.keys(migrations).at(-1)!
  let isLocked = false
  const recorded = Object.entries(allMigrations).map(([name, { up }]) => {
    const run = async (transaction: Kysely<unknown>) => {
      if (!isLocked) await lockTables(transaction, name)
      isLocked = true
      await up(transaction)
      if (name === last)
        await sql`
          insert into schema_versions (migration, version, requires)
          values (${last}, ${version}, ${required})`.execute(transaction)
    }
    return [name, { up: run }]
  })
  const provider = { getMigrations: async () => Object.fromEntries(recorded) }
  for (;;) {
    isLocked = false
    const { error, results } = await new Migrator({ db, provider }).migrateToLatest()
    if (!error) return
    const failed = results?.find((result) => result.status === 'Error')?.migrationName
    if (!failed || !lockErrors.includes((error as { code?: string }).code ?? ''))
      throw new Error(`The database migration failed${failed ? ` (${failed})` : ''}`, { cause: error })
    onLocked?.(failed)
    await delay(retryAfterMs, undefined, { signal })
  }
}

/**
 * Locks all tables that this migration and those after it change, before the first change: between two locks, requests that
 * have others would wait for longer than until Postgres looks for deadlocks.
 */
async function lockTables(transaction: Kysely<unknown>, first: string): Promise<void> {
  const limit = `${lockTimeoutMs}ms`
  await sql`select set_config('lock_timeout', ${limit}, true), set_config('statement_timeout', ${limit}, true)`.execute(
    transaction,
  )
  const missing = Object.entries(allMigrations).filter(([name]) => name >= first)
  const names = [...new Set(missing.flatMap(([, { locks = [] }]) => locks))]
  const { rows } = await sql<{ name: string }>`
    select name from unnest(${names}::text[]) name where to_regclass(name) is not null`.execute(transaction)
  if (rows.length > 0)
    await sql`lock table ${sql.join(rows.map(({ name }) => sql.table(name)))} in access exclusive mode`.execute(
      transaction,
    )
  await sql`select set_config('statement_timeout', '0', true)`.execute(transaction)
}

/** Their names, in order. */
export const migrationNames: readonly string[] = Object.keys(migrations)

/** Undefined for an expansion. */
export const requiredBy = (name: string): string | undefined => allMigrations[name]?.requires

export const locksOf = (name: string): string[] => allMigrations[name]?.locks ?? []

/** Runs the migrations up to one of them, for rows of an older version that are loaded before the rest runs. */
export async function migrateTo<T>(db: Kysely<T>, name: string): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } })
  const { error } = await migrator.migrateTo(name)
  if (error) throw new Error('The database migration failed', { cause: error })
}
