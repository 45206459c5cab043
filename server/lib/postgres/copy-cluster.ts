import {
  chown,
  constants,
  copyFile,
  type FileHandle,
  mkdir,
  open,
  readdir,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { inParallel } from '../parallel.ts'
import type { SystemUser } from '../system-user.ts'
import { errorCode } from './errors.ts'

type Options = {
  /** A session of a superuser. Postgres cancels the backup if the session ends. */
  client: pg.Client
  cluster: string
  /** An empty folder. */
  target: string
  /** The owner of the copy. */
  owner: SystemUser
  signal: AbortSignal
  onCopied(bytes: number): void
}

/** Folders whose content belongs to the running server. They must exist, and a server that starts in the copy fills them. */
const EMPTY_FOLDERS = ['dynshmem', 'notify', 'replslot', 'serial', 'snapshots', 'stat_tmp', 'subtrans', 'wal']
const emptyFolders = new Set(EMPTY_FOLDERS.map((name) => `pg_${name}`))
const isSkipped = (path: string) => /^postmaster\.|^\.s\.PGSQL\.|(^|\/)pgsql_tmp/.test(path)
/** Copied last, as the manual of Postgres demands. */
const CONTROL_FILE = 'global/pg_control'
const FILES_AT_ONCE = 4

/**
 * Copies the files of a cluster while its server runs, as pg_basebackup does, which is not part of the package. The files
 * change meanwhile. A server that starts in the copy replays the log, which is copied too, and then has every row that was
 * committed before the end of the copy.
 */
export async function copyCluster(options: Options): Promise<void> {
  const { client, cluster, target, owner } = options
  // A temporary slot: Postgres keeps the log until the session ends.
  await client.query(`select pg_create_physical_replication_slot('kinora_copy', true, true)`)
  await client.query(`select pg_backup_start('kinora', fast => true)`)
  await using root = await open(cluster, constants.O_RDONLY | constants.O_DIRECTORY)
  const folders = [target]
  const files = walk(root, '', async (path) => {
    folders.push(await makeFolder(join(target, path), owner))
  })
  await inParallel(files, FILES_AT_ONCE, async ({ path, source }) => {
    await using file = source
    if (path !== CONTROL_FILE) await copy(file, path, options)
  })
  await using control = await openInside(root, CONTROL_FILE)
  await copy(control, CONTROL_FILE, options)
  await copyLog(options)
  for (const folder of folders) await sync(folder)
}

/** Ends the backup. Copies the log that was written since its start, and its label, which says where the log begins. */
async function copyLog(options: Options): Promise<void> {
  const { client, cluster, target, owner } = options
  const { rows } = await client.query<{ label: string; last: string }>(
    'select labelfile as label, pg_walfile_name(lsn) as last from pg_backup_stop(wait_for_archive => false)',
  )
  const { label, last } = rows[0]!
  const [, first = ''] = /^START WAL LOCATION: .* \(file (\w+)\)$/m.exec(label) ?? []
  // An operator may have replaced it by a link to another disk.
  await using log = await open(join(cluster, 'pg_wal'), constants.O_RDONLY | constants.O_DIRECTORY)
  for (const name of await readdir(pathOf(log))) {
    if (!/^[0-9A-F]{24}$/.test(name) || name < first || name > last) continue
    await using segment = await openInside(log, name)
    await copy(segment, join('pg_wal', name), options)
  }
  const labelFile = join(target, 'backup_label')
  await writeFile(labelFile, label, { flag: 'wx', mode: 0o600 })
  await chown(labelFile, owner.uid, owner.gid)
  await sync(labelFile)
}

async function copy(source: FileHandle, path: string, options: Options): Promise<void> {
  const { target, owner, signal, onCopied } = options
  signal.throwIfAborted()
  const copied = join(target, path)
  // With COPYFILE_FICLONE, file systems that can do so share the blocks until the original changes.
  await copyFile(pathOf(source), copied, constants.COPYFILE_FICLONE)
  await chown(copied, owner.uid, owner.gid)
  await sync(copied)
  onCopied((await source.stat()).size)
}

/** Opens all files that are to be copied. The caller closes them. */
async function* walk(
  folder: FileHandle,
  below: string,
  onFolder: (path: string) => Promise<void>,
): AsyncGenerator<{ path: string; source: FileHandle }> {
  for (const name of await readdir(pathOf(folder))) {
    const path = join(below, name)
    if (isSkipped(path)) continue
    if (emptyFolders.has(path)) {
      await onFolder(path)
      continue
    }
    const source = await openInside(folder, name).catch((error) => {
      // A table that was dropped meanwhile.
      if (errorCode(error) !== 'ENOENT') throw error
    })
    if (!source) continue
    if (!(await source.stat()).isDirectory()) {
      yield { path, source }
      continue
    }
    await using inner = source
    await onFolder(path)
    yield* walk(inner, path, onFolder)
  }
}

/**
 * Opens an entry of an open folder, but no symbolic link. If root copies the files of another user, that user could
 * otherwise replace a file or a folder by a link to something that only root can read.
 */
const openInside = (folder: FileHandle, name: string): Promise<FileHandle> =>
  open(join(pathOf(folder), name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)

const pathOf = (handle: FileHandle) => `/proc/self/fd/${handle.fd}`

async function makeFolder(path: string, { uid, gid }: SystemUser): Promise<string> {
  await mkdir(path, { mode: 0o700 })
  await chown(path, uid, gid)
  return path
}

/** Waits until the file or folder is on the disk, so that the copy survives a power failure. */
async function sync(path: string): Promise<void> {
  await using handle = await open(path)
  await handle.sync()
}
