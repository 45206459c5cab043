import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import {
  type Body,
  type ChunkOptions,
  checkHandle,
  FileNotFoundError,
  type StoredChunk,
  sizeOf,
} from './files.ts'
import type { Bucket } from './s3-bucket.ts'
import { prefixOf, uploadsPrefix } from './s3-multipart.ts'
import { openObject } from './s3-read.ts'
import { copySingle, joinChunks, maxCopyBytes, storeBody } from './s3-write.ts'

export async function writeChunk(
  bucket: Bucket,
  handle: string,
  body: Body,
  { order, signal }: ChunkOptions,
): Promise<StoredChunk> {
  const key = `${prefixOf(checkHandle(handle))}piece-${order}-${randomUUID()}`
  try {
    return { location: key, ...(await storeBody(bucket, handle, key, body, signal)) }
  } catch (error) {
    // A request that failed on our side may have been stored all the same.
    await bucket.delete(key, bucket.cleanUpTimeout(error)).catch(() => {})
    throw signal?.aborted ? signal.reason : error
  }
}

export function readChunk(bucket: Bucket, handle: string, chunk: StoredChunk): Promise<Readable> {
  return openObject(bucket, keyOf(handle, chunk))
}

export async function removeChunk(bucket: Bucket, handle: string, chunk: StoredChunk): Promise<void> {
  await bucket.delete(keyOf(handle, chunk))
}

/** Returns the size. The caller removes the chunks. */
export async function finishUpload(
  bucket: Bucket,
  handle: string,
  key: string,
  chunks: StoredChunk[],
): Promise<number> {
  const size = sizeOf(chunks)
  try {
    const keys = chunks.map((chunk) => keyOf(handle, chunk))
    // If the object exists, the process was killed before it removed the chunks.
    if (!(await bucket.isAssembledFrom(key, handle, size))) {
      if (keys.length === 1 && keys[0] && size <= maxCopyBytes)
        await copySingle(bucket, { from: keys[0], to: key, size, handle })
      else await joinChunks(bucket, handle, key, chunks)
      const stored = await bucket.sizeOf(key)
      if (stored !== size)
        throw new FileNotFoundError(`${key} has ${stored ?? 'no'} bytes in the store, not ${size}`)
    }
  } catch (error) {
    // Another process may have finished the upload, or this one before it was killed. Chunks are removed last.
    if (!(error instanceof FileNotFoundError) || (await bucket.sizeOf(key)) !== size) throw error
  }
  return size
}

export async function* listUploads(bucket: Bucket): AsyncGenerator<{ handle: string; modified: Date }> {
  // Keys are sorted, so all keys of one handle are adjacent.
  let last: { handle: string; modified: Date } | undefined
  for await (const { key, modified } of bucket.list(uploadsPrefix)) {
    const handle = key.slice(uploadsPrefix.length).split('/')[0] ?? ''
    if (last?.handle === handle && last.modified >= modified) continue
    if (last && last.handle !== handle) yield last
    last = { handle, modified }
  }
  if (last) yield last
}

/** After a restore, the location may be that of another kind of store. The chunk does not exist then. */
function keyOf(handle: string, { location }: StoredChunk): string {
  if (!location.startsWith(prefixOf(checkHandle(handle))) || !/^[\w./-]+$/.test(location)) {
    throw new FileNotFoundError(`"${location.slice(0, 80)}" is not a location of a chunk`)
  }
  return location
}
