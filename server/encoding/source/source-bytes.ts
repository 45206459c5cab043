import { open } from 'node:fs/promises'
import { FileNotFoundError, type Files } from '../../lib/files/files.ts'
import type { ReadBytes } from '../../media/mp4-index.ts'
import { Unreadable } from '../../media/probe.ts'

/** A file of the store, of which any part can be read. */
export type SourceBytes = {
  bytes: number
  /** Changes with the content. */
  version: string
  isLocal: boolean
  /** Whether bytes have arrived. Undefined if all of them have. */
  has?(from: number, to: number): boolean
  read: ReadBytes
  /** Fills a buffer. */
  readInto(target: Buffer, from: number): Promise<void>
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
      const bytes = Buffer.concat(buffers)
      checkSize(bytes.length, size)
      return bytes
    }
    const readInto = async (target: Buffer, from: number) =>
      void (await read(from, target.length)).copy(target)
    return { bytes: found.size, version, isLocal: false, read, readInto, close: async () => {} }
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
  const readInto = async (target: Buffer, from: number) => {
    const { bytesRead } = await file.read(target, 0, target.length, from)
    checkSize(bytesRead, target.length)
  }
  const read: ReadBytes = async (from, size) => {
    const buffer = Buffer.allocUnsafeSlow(size)
    await readInto(buffer, from)
    return buffer
  }
  return { bytes: found.size, version, isLocal: true, read, readInto, close: () => file.close() }
}

const missing = (key: string) =>
  new Unreadable('The source file is missing.', { cause: new FileNotFoundError(`there is no file ${key}`) })

function checkSize(bytesRead: number, size: number): void {
  if (bytesRead !== size) throw new Unreadable('The source file is shorter than when it was examined.')
}
