import { type Kysely, sql } from 'kysely'
import type { Pool, PoolClient } from 'pg'
import type { Files } from '../lib/files/files.ts'
import { inParallel } from '../lib/parallel.ts'
import { liveFolder } from '../live/state/files.ts'
import type { Tables } from '../tables.ts'
import { sourceKey, videosFolder } from '../videos/files.ts'
import { readGenerations, writeStoreGeneration } from '../videos/store-generation.ts'
import { readStoreId, storeIdKey } from '../videos/store-identity.ts'
import { watermarksFolder } from '../watermarks/files.ts'
import { isOfExtension } from './database/catalog.ts'
import { loadDatabase } from './database/load.ts'
import type { Destination } from './destination/destination.ts'
import type { Entry } from './entries.ts'
import { BackupError } from './errors.ts'
import { checksumOf, hashed } from './hashing.ts'
import { lockBackups } from './hold.ts'
import type { Manifest } from './manifest.ts'
import { Progress } from './progress.ts'
import { beginRestore, endRestoreStatement, hasUnfinishedRestore } from './unfinished-restore.ts'
import { openCompressed, readFileList } from './verify.ts'

export type RestoreTarget = {
  db: Kysely<Tables>
  pool: Pool
  files: Files
  /** The migrations of this version. */
  migrations: readonly string[]
  /** Runs the migrations up to one of them. */
  migrateTo(name: string): Promise<void>
  /** Creates the tables and queues of pg-boss. */
  prepareQueue(): Promise<void>
}

/** Rejects if this version does not know the schema of the backup. */
export function checkVersion(target: RestoreTarget, { migrations, version, id }: Manifest): void {
  const unknown = migrations.filter((name) => !target.migrations.includes(name))
  if (unknown.length > 0)
    throw new BackupError(
      `The backup ${id} is of Kinora ${version}, which is newer than this version: install version ${version} or a later one.`,
    )
}

/**
 * Rejects if the database or the store contain anything, except what an interrupted restore has left. Without files in the
 * backup, the store must be the one that the backup was made with.
 */
export async function checkTarget({ db, pool, files }: RestoreTarget, manifest: Manifest): Promise<void> {
  const { rows } = await pool.query<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and application_name like 'kinora%'
       and application_name <> 'kinora restore'`,
  )
  if (rows[0]!.count > 0)
    throw new BackupError('The service is running: stop all of its processes before you restore a backup.')
  if (!manifest.files) await checkStore(files, manifest)
  if (await hasUnfinishedRestore(db)) return
  const rowsAndTables = [...(await countRows(pool)), ...(await findForeignTables(pool))]
  const found = [...rowsAndTables, ...(manifest.files ? await findFolders(files) : [])]
  if (found.length > 0)
    throw new BackupError(
      `A backup can only be restored into an empty installation, and this one has ${found.join(', ')}: use a new data folder (KINORA_DATA_DIR), or an empty database and an empty bucket.`,
    )
}

async function checkStore(files: Files, { service, id }: Manifest): Promise<void> {
  const found = await readStoreId({ files })
  if (found === service) return
  throw new BackupError(
    `The backup ${id} contains the database only, and the file store of the settings is not the one that belongs to it: its file ${storeIdKey} ${found === undefined ? 'is missing' : 'has another content'}.`,
  )
}

const counted = {
  all_videos: 'videos',
  live_streams: 'live streams',
  api_keys: 'API keys',
  webhooks: 'webhooks',
  watermarks: 'watermarks',
}

async function countRows(pool: Pool): Promise<string[]> {
  const found: string[] = []
  for (const [table, label] of Object.entries(counted)) {
    const { rows: exists } = await pool.query<{ is: boolean }>(
      `select to_regclass('public.${table}') is not null as is`,
    )
    if (!exists[0]!.is) continue
    const { rows } = await pool.query<{ count: number }>(`select count(*)::int as count from ${table}`)
    if (rows[0]!.count > 0) found.push(`${rows[0]!.count} ${label}`)
  }
  return found
}

/** The rows of all tables are replaced. */
async function findForeignTables(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ label: string }>(
    `select format('a table %I', c.relname) as label
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'public' and c.relkind in ('r', 'p') and not ${isOfExtension}
       and to_regclass('public.kysely_migration') is null
     order by c.relname limit 3`,
  )
  return rows.map(({ label }) => label)
}

async function findFolders(files: Files): Promise<string[]> {
  const found: string[] = []
  for (const folder of [videosFolder, liveFolder, watermarksFolder])
    if ((await files.listNames(folder, '', 1)).length > 0) found.push(`files in "${folder}"`)
  return found
}

/** The place of a restored chunk of an unfinished upload. */
type RestoredChunk = { videoId: string; position: number; handle: string; place: string }

const filesAtOnce = 8

/**
 * Restores files, then rows. The rows are committed in one transaction that also ends the restore, so a restore that was
 * killed can be repeated, and the service does not start before it is complete.
 */
export async function restore(
  target: RestoreTarget,
  destination: Destination,
  manifest: Manifest,
  onProgress?: (progress: Progress) => void,
): Promise<Progress> {
  const lock = await lockBackups(target.pool)
  if (!lock) throw new BackupError('Another restore into this database is running.')
  try {
    // The service may have been started while the backup was verified.
    await checkTarget(target, manifest)
    return await restoreAll(target, destination, manifest, new Progress(onProgress))
  } finally {
    lock.release()
  }
}

async function restoreAll(
  target: RestoreTarget,
  destination: Destination,
  manifest: Manifest,
  progress: Progress,
): Promise<Progress> {
  const { db, files } = target
  await beginRestore(db)
  const chunks = await restoreFiles(target, destination, manifest, progress)
  if (manifest.files) await files.put(storeIdKey, Buffer.from(manifest.service))
  await createTables(target, manifest)
  await target.prepareQueue()
  // Files of the bucket that are newer than the rows would seem to be orphans. The number of the rows is at most one higher.
  if (!manifest.files) await writeStoreGeneration(target, (await readGenerations(target)).store + 2)
  await loadRows(target, destination, manifest, chunks)
  await sql`analyze`.execute(db)
  return progress
}

async function createTables({ db, migrateTo }: RestoreTarget, { migrations, id }: Manifest): Promise<void> {
  const applied = await sql<{ name: string }>`select name from kysely_migration`
    .execute(db)
    .catch((error) => {
      if (error.code === undefinedTable) return { rows: [] }
      throw error
    })
  if (applied.rows.some(({ name }) => !migrations.includes(name)))
    throw new BackupError(
      `The database already has the tables of a newer version than the backup ${id}: use an empty database.`,
    )
  await migrateTo(migrations.at(-1)!)
}

const undefinedTable = '42P01'

async function restoreFiles(
  { files }: RestoreTarget,
  destination: Destination,
  manifest: Manifest,
  progress: Progress,
): Promise<RestoredChunk[]> {
  const chunks: RestoredChunk[] = []
  const handles = new Map<string, Promise<string>>()
  await inParallel(readFileList(destination, manifest), filesAtOnce, async (entry) => {
    if (entry.key !== undefined) await restoreFile(files, destination, entry, entry.key, progress)
    if (entry.chunk) {
      const { videoId, position } = entry.chunk
      if (!handles.has(videoId)) handles.set(videoId, files.beginUpload(sourceKey(videoId)))
      const handle = await handles.get(videoId)!
      const { body, check } = await openChecked(destination, entry, progress)
      const { location } = await files.writeChunk(handle, body, { order: position, length: entry.size })
      check()
      chunks.push({ videoId, position, handle, place: location })
    }
    progress.addFile(entry.size)
  })
  return chunks
}

async function restoreFile(
  files: Files,
  destination: Destination,
  entry: Entry,
  key: string,
  progress: Progress,
): Promise<void> {
  if (await isRestored(files, key, entry)) return
  const { body, check } = await openChecked(destination, entry, progress)
  await files.put(key, body)
  check()
}

/** By a restore that was interrupted. */
async function isRestored(files: Files, key: string, { size, sha256 }: Entry): Promise<boolean> {
  if ((await files.stat(key))?.size !== size) return false
  return (await checksumOf(await files.read(key))).sha256 === sha256
}

async function openChecked(destination: Destination, entry: Entry, progress: Progress) {
  const { body, result } = hashed(await destination.read(entry.path), (bytes) => progress.addBytes(bytes))
  const check = () => {
    if (result().sha256 !== entry.sha256)
      throw new BackupError(`The backup is damaged: ${entry.path} has changed.`)
  }
  return { body, check }
}

async function loadRows(
  { pool }: RestoreTarget,
  destination: Destination,
  manifest: Manifest,
  chunks: RestoredChunk[],
): Promise<void> {
  const client = await pool.connect()
  let isDone = false
  try {
    await client.query('begin')
    await loadDatabase(client, await openCompressed(destination, manifest.database.path))
    await adjustRows(client, chunks)
    await client.query(endRestoreStatement)
    await client.query('commit')
    isDone = true
  } finally {
    client.release(!isDone)
  }
}

async function adjustRows(client: PoolClient, chunks: RestoredChunk[]): Promise<void> {
  for (const { videoId, position, handle, place } of chunks) {
    await client.query('update sources set handle = $2, lock_until = null where video_id = $1', [
      videoId,
      handle,
    ])
    await client.query('update source_pieces set place = $3 where video_id = $1 and position = $2', [
      videoId,
      position,
      place,
    ])
  }
  // An encoder that continued a broadcast would use numbers of segments that viewers have seen after the backup. No encoder
  // can continue one that is away and completing, and the service ends it with its recordings.
  await client.query(`
    update broadcasts set state = 'away', completing = true, away_at = now(), lease_until = now()
    where state <> 'ended'`)
}
