import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { CopyObjectCommand, HeadBucketCommand } from '@aws-sdk/client-s3'
import { newOwnedName } from '../owner.ts'
import {
  checkKey,
  FileMissing,
  type Files,
  FilesProblem,
  isHandle,
  mostHotBytes,
  type Piece,
  sizeOf,
} from './files.ts'
import { HotFiles } from './hot.ts'
import { Bucket, GiB } from './s3-client.ts'
import { abortUnfinished, prefixOf, putWhole, uploadsPrefix } from './s3-multipart.ts'
import { openObject, readObject } from './s3-read.ts'
import type { S3Settings } from './s3-send.ts'
import { join, store } from './s3-write.ts'

/** The most that one CopyObject may take. */
const copyBytes = 5 * GiB

/** Readiness is asked every few seconds and given up after 3. */
const checkWithinMs = 2_500

/** Of files that viewers ask for. */
const mostHeldBytes = 64 * 1024 * 1024

/** Uploads are below `.uploads/`, by handle, each piece an object of its own: keys have no dot in front. */
export function openS3Files(settings: S3Settings): Files {
  const bucket = new Bucket(settings)
  const inBucket = { Bucket: bucket.name }
  let hasWritten = false

  const known = (handle: string) => {
    if (!isHandle(handle)) throw new FileMissing(`there is no upload "${handle.slice(0, 80)}"`)
    return handle
  }

  const copyOne = async (from: string, to: string, size: number, handle?: string) => {
    const mark = handle && { MetadataDirective: 'REPLACE' as const, Metadata: { upload: handle } }
    const copy = { ...inBucket, Key: to, CopySource: `${bucket.name}/${from}`, ...mark }
    await bucket.send(new CopyObjectCommand(copy), bucket.longFor(size))
  }

  const hot = new HotFiles<Buffer>({
    async open(key, size) {
      const bytes = await readObject(bucket, checkKey(key))
      return bytes.length === size ? bytes : undefined
    },
    weightOf: (size) => size,
    mostWeight: mostHeldBytes,
  })

  return {
    async check() {
      const abortSignal = AbortSignal.timeout(checkWithinMs)
      try {
        // Whether we may write does not change by itself: asked once, as each write costs money or a version.
        if (hasWritten) await bucket.send(new HeadBucketCommand(inBucket), { abortSignal })
        else await putWhole(bucket, '.check', Buffer.alloc(0), abortSignal)
        hasWritten = true
      } catch (error) {
        if (abortSignal.aborted) throw new FilesProblem('unreachable', error)
        throw error instanceof FileMissing ? new FilesProblem('refused', error) : error
      }
    },

    async read(key, range) {
      checkKey(key)
      if (range && range.to < range.from) return Readable.from([])
      try {
        return await openObject(bucket, key, range)
      } catch (error) {
        if ((error as Error).name === 'InvalidRange') return Readable.from([])
        throw error
      }
    },

    hold: async (key, size) => (size > mostHotBytes ? undefined : hot.hold(key, size)),

    pathOf: () => undefined,

    ...(settings.isRedirecting && { addressOf: (key, answer) => bucket.sign(checkKey(key), answer) }),

    stat: async (key) => bucket.stat(checkKey(key)),

    async put(key, body) {
      return store(bucket, newOwnedName(), checkKey(key), Buffer.isBuffer(body) ? oneBuffer(body) : body)
    },

    async copy(from, to) {
      checkKey(to)
      const size = await bucket.sizeOf(checkKey(from))
      if (size === undefined) throw new FileMissing(`there is no file ${from}`)
      if (size <= copyBytes) return copyOne(from, to, size)
      await join(bucket, newOwnedName(), to, [{ place: from, size }])
    },

    async *list(prefix) {
      for await (const { key } of bucket.list(`${checkKey(prefix)}/`)) yield key
    },

    listNames: (prefix, after, limit) => bucket.listNames(`${checkKey(prefix)}/`, after, limit),

    async remove(prefix) {
      await bucket.delete(checkKey(prefix))
      await bucket.deleteBelow(`${prefix}/`)
    },

    // A store of objects has no folders.
    removeEmptyFolder: async () => {},

    // Nothing to make: an upload is what lies below its handle.
    async beginUpload(key) {
      checkKey(key)
      return newOwnedName()
    },

    async hasUpload(handle) {
      return isHandle(handle)
    },

    async writePiece(handle, order, _offset, body, signal) {
      const place = `${prefixOf(known(handle))}piece-${order}-${randomUUID()}`
      try {
        return { place, ...(await store(bucket, handle, place, body, signal)) }
      } catch (error) {
        // One that was cut off may have arrived all the same.
        await bucket.delete(place, bucket.briefAfter(error)).catch(() => {})
        throw signal?.aborted ? signal.reason : error
      }
    },

    async readPiece(handle, piece) {
      return openObject(bucket, placeOf(known(handle), piece))
    },

    async removePiece(handle, piece) {
      await bucket.delete(placeOf(known(handle), piece))
    },

    async finishUpload(handle, key, pieces) {
      checkKey(key)
      const size = sizeOf(pieces)
      const places = pieces.map((piece) => placeOf(known(handle), piece))
      try {
        // Where the process was killed before it removed the pieces, there is nothing else to do.
        if (!(await bucket.isFrom(key, handle, size))) {
          if (places.length === 1 && places[0] && size <= copyBytes)
            await copyOne(places[0], key, size, handle)
          else await join(bucket, handle, key, pieces)
          const stored = await bucket.sizeOf(key)
          if (stored !== size)
            throw new FileMissing(`${key} has ${stored ?? 'no'} bytes in the store, not ${size}`)
        }
      } catch (error) {
        // It may have been finished before, by a process that was killed or is faster: pieces go last.
        if (!(error instanceof FileMissing) || (await bucket.sizeOf(key)) !== size) throw error
      }
      await bucket.deleteBelow(prefixOf(handle))
      return { size }
    },

    async abandonUpload(handle) {
      if (isHandle(handle)) await bucket.deleteBelow(prefixOf(handle))
    },

    async *listUploads() {
      // Keys come in their order, so all of one handle come together.
      let last: { handle: string; modified: Date } | undefined
      for await (const { key, modified } of bucket.list(uploadsPrefix)) {
        const handle = key.slice(uploadsPrefix.length).split('/')[0] ?? ''
        if (last?.handle === handle && last.modified >= modified) continue
        if (last && last.handle !== handle) yield last
        last = { handle, modified }
      }
      if (last) yield last
    },

    abortUnfinished: (prefixes, now) => abortUnfinished(bucket, prefixes, now),

    async close() {
      hot.close()
      bucket.close()
    },
  }
}

function placeOf(handle: string, { place }: Piece): string {
  if (!place.startsWith(prefixOf(handle)) || !/^[\w./-]+$/.test(place)) {
    throw new Error(`"${place.slice(0, 80)}" is not a place of a piece`)
  }
  return place
}

async function* oneBuffer(buffer: Buffer) {
  yield buffer
}
