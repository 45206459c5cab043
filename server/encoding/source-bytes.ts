import { open } from 'node:fs/promises'
import { FileNotFoundError, type Files } from '../lib/files/files.ts'
import type { ReadBytes } from '../media/mp4-index.ts'
import { Unreadable } from '../media/probe.ts'

/** A file of the store, of which any part can be read. */
export type SourceBytes = {
  bytes: number
  /** Changes with the content. */
  version: string
  isLocal: boolean
  read: ReadBytes
  close(): Promise<void>
}

export async function openSourceBytes(files: Files, key: string): Promise<SourceBytes> {
  const found = await files.stat(key)
  if (!found) throw missing(key)
  const version = `${found.size} ${found.modified.getTime()}`
  const path = files.pathOf(key)
  if (path === undefined) {
    const read: ReadBytes = async (from, size) => {
      const buffers: Buffer[] = []
      if (size > 0)
        for await (const buffer of await files.read(key, { from, to: from + size - 1 })) buffers.push(buffer)
      return checkSize(Buffer.concat(buffers), size)
    }
    return { bytes: found.size, version, isLocal: false, read, close: async () => {} }
  }
  return openFileBytes(path).catch((error) => {
    throw error.code === 'ENOENT' ? missing(key) : error
  })
}

/** A file on a local disk. */
export async function openFileBytes(path: string): Promise<SourceBytes> {
  const file = await open(path)
  const found = await file.stat()
  const version = `${found.size} ${found.mtime.getTime()}`
  const read: ReadBytes = async (from, size) => {
    const buffer = Buffer.allocUnsafeSlow(size)
    const { bytesRead } = await file.read(buffer, 0, size, from)
    return checkSize(buffer.subarray(0, bytesRead), size)
  }
  return { bytes: found.size, version, isLocal: true, read, close: () => file.close() }
}

const missing = (key: string) =>
  new Unreadable('The source file is missing.', { cause: new FileNotFoundError(`there is no file ${key}`) })

function checkSize(bytes: Buffer, size: number): Buffer {
  if (bytes.length !== size) throw new Unreadable('The source file is shorter than when it was examined.')
  return bytes
}
