import type { FileHandle } from 'node:fs/promises'
import { mkdir, open, rename, rmdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Batch } from './body.ts'
import { FilesProblem } from './files.ts'

const kinds: Record<string, FilesProblem['kind']> = {
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

/** Bodies fail with codes too (ECONNRESET): those pass unchanged. */
export function guarded<A extends unknown[], R>(work: (...args: A) => Promise<R>) {
  return async (...args: A): Promise<R> => {
    try {
      return await work(...args)
    } catch (error) {
      const kind = kinds[codeOf(error) ?? '']
      throw kind ? new FilesProblem(kind, error) : error
    }
  }
}

/** undefined where there is no such file. */
export async function ifThere<T>(work: Promise<T>): Promise<T | undefined> {
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

/** Each folder down from the root, which is not made: where it is gone, a disk is not mounted. */
export async function makeFolder(root: string, folder: string): Promise<void> {
  try {
    await mkdir(folder)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return
    if (codeOf(error) !== 'ENOENT') throw error
    if (folder === root || dirname(folder) === root) throw new FilesProblem('unreachable', error)
    await makeFolder(root, dirname(folder))
    await makeFolder(root, folder)
    return
  }
  await syncFolder(dirname(folder))
}

const moveAttempts = 100

/** The file's bytes must be on disk before: a rename may reach it first. */
export async function moveTo(root: string, from: string, to: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await makeFolder(root, dirname(to))
      await rename(from, to)
      break
    } catch (error) {
      // Other processes remove empty folders at any time, also between the creation of a folder and the rename.
      const isRetryable = codeOf(error) === 'ENOENT' && attempt < moveAttempts
      if (!isRetryable || !(await ifThere(stat(from)))) throw error
    }
  }
  await syncFolder(dirname(to))
}

/** Removes the folder and those above it, as long as they are empty. The root and the folders in it stay. */
export async function removeEmptyFolders(root: string, folder: string): Promise<void> {
  for (let each = folder; each !== root && dirname(each) !== root; each = dirname(each)) {
    try {
      await rmdir(each)
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') return
    }
  }
}

/** A write may take less than it was given, mostly just before the disk is full. */
export async function writeAt(file: FileHandle, { buffers, size }: Batch, position: number): Promise<void> {
  let left = buffers
  let done = 0
  while (done < size) {
    const { bytesWritten } = await file.writev(left, position + done)
    done += bytesWritten
    left = dropBytes(left, bytesWritten)
  }
}

function dropBytes(buffers: Buffer[], bytes: number): Buffer[] {
  let skip = bytes
  return buffers.flatMap((buffer) => {
    const here = Math.min(skip, buffer.length)
    skip -= here
    return here === buffer.length ? [] : [buffer.subarray(here)]
  })
}

const copyBytes = 1024 * 1024

/** Fails when the source is shorter. */
export async function copyBytesTo(
  from: FileHandle,
  fromPosition: number,
  to: FileHandle,
  toPosition: number,
  size: number,
): Promise<void> {
  const buffer = Buffer.allocUnsafe(Math.min(copyBytes, size))
  for (let done = 0; done < size; ) {
    const wanted = Math.min(buffer.length, size - done)
    const { bytesRead } = await from.read(buffer, 0, wanted, fromPosition + done)
    if (bytesRead === 0) throw new Error(`a piece of ${size} bytes ends after ${done}`)
    await writeAt(to, { buffers: [buffer.subarray(0, bytesRead)], size: bytesRead }, toPosition + done)
    done += bytesRead
  }
}
