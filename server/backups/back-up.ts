import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { Pool } from 'pg'
import type { Context } from '../context.ts'
import { messageOf } from '../lib/database/errors.ts'
import { readVersion } from '../lib/version.ts'
import { withWorkFolder } from '../lib/work.ts'
import { hasStoredSource } from '../uploads/source/store.ts'
import { videosFolder } from '../videos/files.ts'
import { provideStoreId, readStoreId, storeIdKey } from '../videos/store-identity.ts'
import { copyFiles } from './copy-files.ts'
import { dumpDatabase, openSnapshot } from './database/dump.ts'
import type { Destination } from './destination/destination.ts'
import { EntryGroups, EntryWriter, readEntries } from './entries.ts'
import { BackupError } from './errors.ts'
import { type Checksum, hashed } from './hashing.ts'
import { holdRemovals, lockBackups } from './hold.ts'
import {
  claimDestination,
  folderOf,
  listBackups,
  type Manifest,
  newBackupId,
  readManifest,
  writeManifest,
} from './manifest.ts'
import { Progress } from './progress.ts'
import { removeOldBackups } from './prune.ts'
import { type ChunkRow, chunkRowsQuery, listSources } from './sources.ts'
import * as store from './store.ts'
import { hasIntactList, readFileList } from './verify.ts'

type Deps = Pick<Context, 'config' | 'db' | 'files' | 'now'> & { pool: Pool }

export type BackUpOptions = {
  destination: Destination
  /** False if the files are in a bucket with backups of its own. */
  includesFiles: boolean
  /** How many backups are kept. Undefined: all. */
  keep: number | undefined
  onProgress?(progress: Progress): void
}

/** Backs up database and files while the service runs. Only one backup of a database runs at a time. */
export async function backUp(deps: Deps, options: BackUpOptions): Promise<Manifest> {
  const { db, pool, now } = deps
  const { destination } = options
  const lock = await lockBackups(pool)
  if (!lock) throw new BackupError('Another backup of this service is running.')
  try {
    const id = await newBackupId(destination, now())
    await store.insertBackup(db, { id, destination: destination.name, now: now() })
    const progress = new Progress(options.onProgress)
    try {
      const manifest = await write(deps, options, id, progress)
      if (options.keep !== undefined) await removeOldBackups(destination, options.keep)
      const { files, bytes, copiedFiles: copied_files, copiedBytes: copied_bytes } = progress
      const counts = options.includesFiles ? { files, bytes, copied_files, copied_bytes } : {}
      await store.finishBackup(db, id, counts, now())
      return manifest
    } catch (error) {
      // If the database is away, the row says the same later.
      await store.finishBackup(db, id, { error: messageOf(error) }, now()).catch(() => {})
      throw error
    }
  } finally {
    lock.release()
  }
}

async function write(
  deps: Deps,
  { destination, includesFiles }: BackUpOptions,
  id: string,
  progress: Progress,
): Promise<Manifest> {
  const { db, pool, now } = deps
  const startedAt = now().toISOString()
  const service = await provideStoreId(db, randomUUID())
  if (includesFiles) await checkFileStore(deps, service)
  await claimDestination(destination, service)
  const base = { format: 1, id, version: readVersion(), service, startedAt }
  if (!includesFiles) {
    const { migrations, database } = await writeDump(pool, destination, id)
    return finish(destination, { ...base, migrations, database, files: null, finishedAt: '' }, now)
  }
  // The lists are small, and a backup is needed most if the disk is almost full.
  const space = { checkNew: () => {} }
  const { migrations, database, files } = await withWorkFolder({ config: deps.config, space }, (folder) =>
    copyAll(deps, destination, id, progress, folder),
  )
  return finish(destination, { ...base, migrations, database, files, finishedAt: '' }, now)
}

/**
 * Rejects if the file store is not that of the database. The empty folder of a disk that is not mounted would make an empty
 * backup, and with it `keep` would remove those that have the files.
 */
async function checkFileStore({ db, files }: Pick<Deps, 'db' | 'files'>, service: string): Promise<void> {
  const found = await readStoreId({ files })
  if (found === service) return
  if (found !== undefined)
    throw new BackupError(
      `The file store belongs to another database: its file ${storeIdKey} is "${found}", this database has "${service}".`,
    )
  // The first sweep writes the file.
  const [first] = await files.listNames(videosFolder, '', 1)
  if (first === undefined && (await hasStoredSource(db)))
    throw new BackupError(
      'The file store has no videos, but the database does: the disk of the data folder may not be mounted.',
    )
}

async function finish(destination: Destination, manifest: Manifest, now: () => Date): Promise<Manifest> {
  await destination.flush()
  const finished = { ...manifest, finishedAt: now().toISOString() }
  await writeManifest(destination, finished)
  return finished
}

/**
 * Copies files in two passes. The first one takes long and lets the service remove files. Then removals are held, the
 * snapshot of the database is taken, and the second pass copies what was added meanwhile. So every file that the snapshot
 * refers to exists until it is copied: files are stored before their rows, and removed after them.
 */
async function copyAll(
  { pool, files }: Deps,
  destination: Destination,
  id: string,
  progress: Progress,
  folder: string,
): Promise<Pick<Manifest, 'migrations' | 'database' | 'files'>> {
  const copy = { files, destination, progress }
  const first = join(folder, 'first')
  const { rows } = await pool.query<ChunkRow>(chunkRowsQuery)
  await writeList(first, (list) =>
    readLastList(destination, (earlier) =>
      copyFiles(
        { ...copy, list, earlier, isEarlierChecked: false, mayDisappear: true },
        listSources(files, rows),
      ),
    ),
  )
  progress.restart()
  const hold = await holdRemovals(pool)
  try {
    const { migrations, database, chunks } = await writeDump(pool, destination, id)
    const second = join(folder, 'second')
    const earlier = new EntryGroups(readEntries(createReadStream(first)))
    await writeList(second, (list) =>
      copyFiles(
        { ...copy, list, earlier, isEarlierChecked: true, mayDisappear: false },
        listSources(files, chunks),
      ),
    )
    // Without the lock, the service may have removed files that the rows refer to.
    await hold.check()
    const path = `${folderOf(id)}/files.ndjson.gz`
    const stored = await writeCompressed(destination, path, createReadStream(second))
    return { migrations, database, files: { ...stored, count: progress.files, bytes: progress.bytes } }
  } finally {
    hold.release()
  }
}

async function writeList(path: string, write: (list: EntryWriter) => Promise<void>): Promise<void> {
  await using file = await open(path, 'wx', 0o600)
  const list = new EntryWriter(file, path)
  await write(list)
  await list.flush()
}

/** The list of the last backup, whose checksums need not be computed again. Empty if there is none. */
async function readLastList(
  destination: Destination,
  use: (earlier: EntryGroups) => Promise<void>,
): Promise<void> {
  for (const id of (await listBackups(destination)).reverse()) {
    // A damaged backup must not prevent the next one.
    const manifest = await readManifest(destination, id).catch(() => undefined)
    if (manifest && (await hasIntactList(destination, manifest)))
      return use(new EntryGroups(readFileList(destination, manifest)))
  }
  return use(new EntryGroups(nothing()))
}

async function* nothing(): AsyncGenerator<never> {}

/** The snapshot ends with the dump, because vacuum cannot remove the rows that it sees. */
async function writeDump(
  pool: Pool,
  destination: Destination,
  id: string,
): Promise<Pick<Manifest, 'migrations' | 'database'> & { chunks: ChunkRow[] }> {
  const snapshot = await openSnapshot(pool)
  try {
    const { rows: chunks } = await snapshot.client.query<ChunkRow>(chunkRowsQuery)
    const path = `${folderOf(id)}/database.sql.gz`
    const database = await writeCompressed(destination, path, dumpDatabase(pool, snapshot))
    return { migrations: snapshot.migrations, database, chunks }
  } finally {
    await snapshot.close()
  }
}

async function writeCompressed(
  destination: Destination,
  path: string,
  content: AsyncIterable<Buffer>,
): Promise<Checksum & { path: string }> {
  let checksum: Checksum | undefined
  // The fastest level: rows compress well at any, and removals wait for the end.
  await pipeline(content, createGzip({ level: 1 }), async (compressed: AsyncIterable<Buffer>) => {
    const { body, result } = hashed(compressed)
    await destination.put(path, body)
    checksum = result()
  })
  return { path, ...checksum! }
}
