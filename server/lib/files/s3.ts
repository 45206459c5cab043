import { Readable } from 'node:stream'
import { HeadBucketCommand } from '@aws-sdk/client-s3'
import { newOwnedName } from '../owner.ts'
import {
  type Body,
  bodyOf,
  buffersOf,
  checkKey,
  FileNotFoundError,
  FileStoreError,
  type Files,
  isHandle,
  maxCachedBytes,
} from './files.ts'
import { OpenFileCache } from './open-file-cache.ts'
import { Bucket } from './s3-bucket.ts'
import { abortOrphanedUploads, prefixOf, putObject } from './s3-multipart.ts'
import { type ByteRange, openObject, readObject } from './s3-read.ts'
import type { S3Settings } from './s3-requests.ts'
import { finishUpload, listUploads, readChunk, removeChunk, writeChunk } from './s3-uploads.ts'
import { copyObject, storeBody } from './s3-write.ts'

/** The readiness check runs every few seconds and times out after 3. */
const checkWithinMs = 2_500

/** Memory for files that viewers request. */
const maxCacheBytes = 64 * 1024 * 1024

/** The chunks of uploads are objects below `.uploads/{handle}/`. No key can begin with a dot. */
export function openS3Files(settings: S3Settings): Files {
  const bucket = new Bucket(settings)
  const cache = new OpenFileCache<Buffer>({
    async open(key, size) {
      const bytes = await readObject(bucket, checkKey(key))
      return bytes.length === size ? bytes : undefined
    },
    weightOf: (size) => size,
    maxWeight: maxCacheBytes,
  })

  return {
    check: createCheck(bucket),
    read: async (key, range) => read(bucket, checkKey(key), range),
    acquire: async (key, size) => (size > maxCachedBytes ? undefined : cache.acquire(key, size)),
    pathOf: () => undefined,
    ...(settings.isRedirecting && { signedUrl: (key, headers) => bucket.signUrl(checkKey(key), headers) }),
    stat: async (key) => bucket.stat(checkKey(key)),
    async put(key, body) {
      const buffers = buffersOf(body)
      return storeBody(bucket, newOwnedName(), checkKey(key), buffers ? bodyOf(buffers) : (body as Body))
    },
    copy: async (from, to) => copyObject(bucket, checkKey(from), checkKey(to)),
    async *list(prefix) {
      for await (const { key } of bucket.list(`${checkKey(prefix)}/`)) yield key
    },
    listSizes: (prefix) => bucket.list(`${checkKey(prefix)}/`),
    listNames: (prefix, after, limit) => bucket.listNames(`${checkKey(prefix)}/`, after, limit),
    async remove(prefix) {
      await bucket.delete(checkKey(prefix))
      await bucket.deleteBelow(`${prefix}/`)
    },
    // An object store has no folders.
    removeEmptyFolder: async () => {},

    // Nothing has to be created: an upload consists of the objects below its handle.
    async beginUpload(key) {
      checkKey(key)
      return newOwnedName()
    },
    hasUpload: async (handle) => isHandle(handle),
    writeChunk: async (handle, body, options) => writeChunk(bucket, handle, body, options),
    readChunk: async (handle, chunk) => readChunk(bucket, handle, chunk),
    pathOfUpload: () => undefined,
    offsetInUpload: () => undefined,
    removeChunk: async (handle, chunk) => removeChunk(bucket, handle, chunk),
    async finishUpload(handle, key, chunks, { keepsChunks } = { keepsChunks: false }) {
      const size = await finishUpload(bucket, handle, checkKey(key), chunks)
      if (!keepsChunks) await bucket.deleteBelow(prefixOf(handle))
      return { size }
    },
    async abandonUpload(handle) {
      if (isHandle(handle)) await bucket.deleteBelow(prefixOf(handle))
    },
    listUploads: () => listUploads(bucket),
    abortOrphanedUploads: (prefixes, now) => abortOrphanedUploads(bucket, prefixes, now),

    async close() {
      cache.close()
      bucket.close()
    },
  }
}

/** Writes only once: write access does not change by itself, and each write costs money or creates a version. */
function createCheck(bucket: Bucket): () => Promise<void> {
  let hasWritten = false
  return async () => {
    const abortSignal = AbortSignal.timeout(checkWithinMs)
    try {
      if (hasWritten) await bucket.send(new HeadBucketCommand({ Bucket: bucket.name }), { abortSignal })
      else await putObject(bucket, '.check', Buffer.alloc(0), abortSignal)
      hasWritten = true
    } catch (error) {
      if (abortSignal.aborted) throw new FileStoreError('unreachable', error)
      throw error instanceof FileNotFoundError ? new FileStoreError('refused', error) : error
    }
  }
}

async function read(bucket: Bucket, key: string, range: ByteRange | undefined): Promise<Readable> {
  if (range && range.to < range.from) return Readable.from([])
  try {
    return await openObject(bucket, key, range)
  } catch (error) {
    if ((error as Error).name === 'InvalidRange') return Readable.from([])
    throw error
  }
}
