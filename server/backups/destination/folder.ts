import { constants } from 'node:fs'
import { access, chmod, mkdir, open, readdir, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { ifExists, removeEmptyFolders, syncFolder } from '../../lib/files/disk-io.ts'
import type { Body } from '../../lib/files/files.ts'
import { FileNotFoundError } from '../../lib/files/files.ts'
import { makeFolders } from '../../lib/make-folders.ts'
import { findOwner, newOwnedName } from '../../lib/owner.ts'
import { BackupError } from '../errors.ts'
import type { Destination, DestinationSettings } from './destination.ts'

/** Incomplete files. */
const temporary = '.incomplete'

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code

export async function openFolderDestination(
  config: Pick<DestinationSettings, 'dataDir'>,
  root: string,
  { isNew }: { isNew: boolean },
): Promise<Destination> {
  await prepare(config, root, isNew).catch((error) => {
    throw error instanceof BackupError ? error : explain(root, error)
  })
  /** Folders with new entries. */
  const changed = new Set<string>()
  const guard = <T>(work: Promise<T>) =>
    work.catch((error) => {
      throw explain(root, error)
    })

  return {
    name: root,
    list: (prefix) => listFiles(root, prefix),
    listNames: (prefix) => listFolders(root, prefix),
    async read(path) {
      const file = await open(join(root, checkPath(path))).catch((error) => {
        if (codeOf(error) === 'ENOENT') throw new FileNotFoundError(`there is no file ${path}`)
        throw explain(root, error)
      })
      return file.createReadStream()
    },
    put: (path, body) => guard(put(root, path, body, changed)),
    async remove(path) {
      const removed = join(root, path)
      await guard(rm(removed, { recursive: true, force: true }))
      changed.add(dirname(removed))
      await guard(removeEmptyFolders(root, dirname(removed)))
    },
    async flush() {
      // A folder may have been removed since.
      for (const folder of changed) await guard(ifExists(syncFolder(folder)))
      changed.clear()
    },
    async close() {},
  }
}

async function prepare({ dataDir }: { dataDir: string }, root: string, isNew: boolean): Promise<void> {
  if (isNew) {
    await checkOutside(dataDir, root)
    await makeFolders(root)
    // A backup contains keys and everything else that is private.
    for (const name of [temporary, 'backups', 'files', 'uploads']) {
      const isCreated = await mkdir(join(root, name), { recursive: true, mode: 0o700 })
      // The umask may have removed permissions. A folder that exists may belong to something else.
      if (isCreated) await chmod(join(root, name), 0o700)
    }
    await access(root, constants.W_OK | constants.X_OK)
    // Of processes that were killed.
    for (const name of await readdir(join(root, temporary)))
      if ((await findOwner(name)) !== 'alive') await rm(join(root, temporary, name), { force: true })
  }
  if (!(await stat(root)).isDirectory()) throw new BackupError(`${root} is not a folder.`)
}

/** Where the service would remove or serve the backup. */
async function checkOutside(dataDir: string, root: string): Promise<void> {
  const real = await realpathOfNearest(root)
  if (real === (await realpathOfNearest(dataDir)))
    throw new BackupError(`${root} is the data folder: choose another folder, best on another disk.`)
  for (const name of ['files', 'postgres', 'work']) {
    const folder = await realpath(join(dataDir, name)).catch(() => undefined)
    if (folder && (real === folder || real.startsWith(folder + sep)))
      throw new BackupError(`${root} is inside ${folder}, which is part of what is backed up.`)
  }
}

/** Of the path, or of its nearest parent folder that exists. */
async function realpathOfNearest(path: string): Promise<string> {
  const real = await realpath(path).catch(() => undefined)
  if (real !== undefined || dirname(path) === path) return real ?? path
  return join(await realpathOfNearest(dirname(path)), path.slice(dirname(path).length))
}

async function put(root: string, path: string, body: Body, changed: Set<string>): Promise<void> {
  const incomplete = join(root, temporary, newOwnedName())
  const target = join(root, path)
  try {
    await using file = await open(incomplete, 'wx', 0o600)
    for await (const bytes of body) await file.appendFile(bytes)
    // Otherwise a power failure could leave a file with the right size and the wrong content.
    await file.datasync()
    await mkdir(dirname(target), { recursive: true, mode: 0o700 })
    await rename(incomplete, target)
    for (let folder = dirname(target); folder.length >= root.length; folder = dirname(folder))
      changed.add(folder)
  } catch (error) {
    await rm(incomplete, { force: true }).catch(() => {})
    throw error
  }
}

/** The lists of a backup may come from someone else, and must not name files elsewhere. */
function checkPath(path: string): string {
  if (path.split('/').includes('..')) throw new BackupError(`The backup is damaged: "${path}" is not a path.`)
  return path
}

/** No links: what they lead to is not part of the backup, and must not be removed with it. */
async function listFolders(root: string, prefix: string): Promise<string[]> {
  const entries = await readdir(join(root, prefix), { withFileTypes: true }).catch(none)
  return entries.flatMap((entry) => (entry.isDirectory() ? entry.name : [])).sort()
}

async function* listFiles(root: string, prefix: string): AsyncGenerator<{ path: string; size: number }> {
  for (const entry of await readdir(join(root, prefix), { withFileTypes: true }).catch(none)) {
    const path = `${prefix}/${entry.name}`
    if (entry.isDirectory()) yield* listFiles(root, path)
    else if (entry.isFile()) yield { path, size: (await stat(join(root, path))).size }
  }
}

function none(error: unknown): [] {
  if (codeOf(error) === 'ENOENT') return []
  throw error
}

/** Errors of bodies and of the program stay as they are. */
function explain(root: string, error: unknown): unknown {
  const reasons: Record<string, string> = {
    ENOSPC: `The disk of ${root} is full: nothing of the earlier backups is lost. Free some space and run the command again.`,
    EDQUOT: `The quota of ${root} is used up: nothing of the earlier backups is lost.`,
    EACCES: `This user is not allowed to use ${root}: ${(error as Error).message}.`,
    EPERM: `This user is not allowed to use ${root}: ${(error as Error).message}.`,
    EROFS: `${root} is on a read-only file system.`,
    ENOENT: `There is no folder ${root}.`,
    ENOTDIR: `${root} is not a folder.`,
    EEXIST: `${root} is not a folder.`,
    EIO: `The disk of ${root} reports errors: ${(error as Error).message}.`,
    ESTALE: `${root} is not reachable: ${(error as Error).message}.`,
  }
  const reason = reasons[codeOf(error) ?? '']
  return reason ? new BackupError(reason, { cause: error }) : error
}
