import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, type FileHandle, open, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { newOwnedName } from '../owner.ts'
import { inBatches, pump } from './body.ts'
import { batchBytes } from './disk-chunks.ts'
import { codeOf, ifExists, makeFolder, moveTo, removeEmptyFolders, writeAt } from './disk-io.ts'
import type { DiskPaths } from './disk-paths.ts'
import { type Body, buffersOf, FileNotFoundError, FileStoreError, type Stat } from './files.ts'

export async function checkDisk({ root }: DiskPaths): Promise<void> {
  const probe = join(root, `.check-${randomUUID()}`)
  try {
    await writeFile(probe, 'x')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') throw new FileStoreError('unreachable', error)
    throw error
  } finally {
    await rm(probe, { force: true })
  }
}

const notFound = (key: string) => new FileNotFoundError(`there is no file ${key}`)

export async function readFile(
  paths: DiskPaths,
  key: string,
  range?: { from: number; to: number },
): Promise<Readable> {
  const file = await ifExists(open(paths.pathOf(key)))
  if (!file) throw notFound(key)
  try {
    const found = await file.stat()
    // A folder can be opened as well.
    if (!found.isFile()) throw notFound(key)
    if (range && (range.from >= found.size || range.to < range.from)) {
      await file.close()
      return Readable.from([])
    }
    return file.createReadStream(range ? { start: range.from, end: range.to } : {})
  } catch (error) {
    await file.close()
    throw error
  }
}

/** Shared by all readers, because what is read into it is never used. */
const scratch = Buffer.allocUnsafeSlow(1024 * 1024)

/** Opens a file and reads it once, so that it is in the page cache when it is sent. Undefined when it is too short. */
export async function openCached(
  paths: DiskPaths,
  key: string,
  size: number,
): Promise<FileHandle | undefined> {
  const file = await ifExists(open(paths.pathOf(key)))
  if (!file) throw notFound(key)
  try {
    for (let done = 0; done < size; ) {
      const { bytesRead } = await file.read(scratch, 0, scratch.length, done)
      if (bytesRead === 0) {
        await file.close()
        return undefined
      }
      done += bytesRead
    }
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

export async function statFile(paths: DiskPaths, key: string): Promise<Stat | undefined> {
  const found = await ifExists(stat(paths.pathOf(key)))
  return found?.isFile() ? { size: found.size, modified: found.mtime } : undefined
}

export function putFile(
  paths: DiskPaths,
  key: string,
  body: Body | Buffer | readonly Buffer[],
): Promise<{ size: number }> {
  return create(paths, key, async (path) => {
    await using file = await openNew(paths, path)
    const size = await writeBody(file, body)
    await file.sync()
    return { size }
  })
}

/** The folder is missing only once, so it is not looked for before each file. */
async function openNew(paths: DiskPaths, path: string): Promise<FileHandle> {
  const file = await ifExists(open(path, 'wx'))
  if (file) return file
  await makeFolder(paths.root, paths.uploads)
  return open(path, 'wx')
}

async function writeBody(file: FileHandle, body: Body | Buffer | readonly Buffer[]): Promise<number> {
  const buffers = buffersOf(body)
  if (buffers) {
    const size = buffers.reduce((sum, { length }) => sum + length, 0)
    await writeAt(file, { buffers, size }, 0)
    return size
  }
  let written = 0
  return pump(inBatches(body as Body, batchBytes), async (batch) => {
    await writeAt(file, batch, written)
    written += batch.size
  })
}

export async function copyKey(paths: DiskPaths, from: string, to: string): Promise<void> {
  const source = paths.pathOf(from)
  if (!(await ifExists(stat(source)))?.isFile()) throw notFound(from)
  await makeFolder(paths.root, paths.uploads)
  await create(paths, to, async (path) => {
    await copyFile(source, path, constants.COPYFILE_FICLONE)
    await using file = await open(path, 'r+')
    await file.sync()
  })
}

/** Writes a temporary file, then renames it, so that the file appears complete or not at all. */
async function create<T>(paths: DiskPaths, key: string, write: (path: string) => Promise<T>): Promise<T> {
  const target = paths.pathOf(key)
  const temporary = paths.folderOf(newOwnedName())
  try {
    const result = await write(temporary)
    await moveTo(paths.root, temporary, target)
    return result
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {})
    throw error
  }
}

export async function removeFiles(paths: DiskPaths, prefix: string): Promise<void> {
  const path = paths.pathOf(prefix)
  await rm(path, { recursive: true, force: true, maxRetries: 3 })
  await removeEmptyFolders(paths.root, dirname(path))
}
