import type { FileHandle } from 'node:fs/promises'
import { mkdir, open, rename, rmdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { FileStoreError } from './files.ts'

const kinds: Record<string, FileStoreError['kind']> = {
  ENOSPC: 'full',
  EDQUOT: 'full',
  EFBIG: 'full',
  EROFS: 'refused',
  EACCES: 'refused',
  EPERM: 'refused',
  EIO: 'unreachable',
  ESTALE: 'unreachable',
  EMFILE: 'unreachable',
  ENFILE: 'unreachable',
}

export const codeOf = (error: unknown) => (error as NodeJS.ErrnoException | undefined)?.code

/** ConcurrencyLimit errors of the disk into FileStoreError. Errors of bodies have codes too (ECONNRESET) and stay as they are. */
export async function withStoreErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const kind = kinds[codeOf(error) ?? '']
    throw kind ? new FileStoreError(kind, error) : error
  }
}

/** Undefined when there is no such file. */
export async function ifExists<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EISDIR'].includes(codeOf(error) ?? '')) return undefined
    throw error
  }
}

export async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder)
  await handle.sync()
}

/** Creates missing parent folders, except the root: a missing root means that a disk is not mounted. */
export async function makeFolder(root: string, folder: string): Promise<void> {
  try {
    await mkdir(folder)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return
    if (codeOf(error) !== 'ENOENT') throw error
    if (folder === root || dirname(folder) === root) throw new FileStoreError('unreachable', error)
    await makeFolder(root, dirname(folder))
    await makeFolder(root, folder)
    return
  }
  await syncFolder(dirname(folder))
}

const moveAttempts = 100

/** The caller must have synced the file, because the rename may reach the disk before the content. */
export async function moveTo(root: string, from: string, to: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      // The folder usually exists.
      if (attempt > 1) await makeFolder(root, dirname(to))
      await rename(from, to)
      break
    } catch (error) {
      // Other processes remove empty folders at any time, even between the creation of a folder and the rename.
      const isRetryable = codeOf(error) === 'ENOENT' && attempt < moveAttempts
      if (!isRetryable || !(await ifExists(stat(from)))) throw error
    }
  }
  await syncFolder(dirname(to))
}

/** Removes the folder and its parents as long as they are empty. The root and the folders in it stay. */
export async function removeEmptyFolders(root: string, folder: string): Promise<void> {
  for (let each = folder; each !== root && dirname(each) !== root; each = dirname(each)) {
    try {
      await rmdir(each)
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') return
    }
  }
}

/** A single write can be short, mostly just before the disk is full. */
export async function writeAt(
  file: FileHandle,
  { buffers, size }: { buffers: readonly Buffer[]; size: number },
  position: number,
): Promise<void> {
  let left = buffers
  let done = 0
  while (done < size) {
    const { bytesWritten } = await file.writev(left, position + done)
    done += bytesWritten
    left = dropBytes(left, bytesWritten)
  }
}

function dropBytes(buffers: readonly Buffer[], bytes: number): Buffer[] {
  let skip = bytes
  return buffers.flatMap((buffer) => {
    const dropped = Math.min(skip, buffer.length)
    skip -= dropped
    return dropped === buffer.length ? [] : [buffer.subarray(dropped)]
  })
}

const copyBufferBytes = 1024 * 1024

export type FilePosition = { file: FileHandle; position: number }

/** Rejects when the source is shorter than `size`. */
export async function copyBytes(from: FilePosition, to: FilePosition, size: number): Promise<void> {
  const buffer = Buffer.allocUnsafe(Math.min(copyBufferBytes, size))
  for (let done = 0; done < size; ) {
    const wanted = Math.min(buffer.length, size - done)
    const { bytesRead } = await from.file.read(buffer, 0, wanted, from.position + done)
    if (bytesRead === 0) throw new Error(`a chunk of ${size} bytes ends after ${done}`)
    const batch = { buffers: [buffer.subarray(0, bytesRead)], size: bytesRead }
    await writeAt(to.file, batch, to.position + done)
    done += bytesRead
  }
}
