import { createHash, type Hash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { Transaction } from 'kysely'
import { ApiError, notFound } from '../../lib/errors.ts'
import { FileNotFoundError, type StoredChunk } from '../../lib/files/files.ts'
import type { Tables } from '../../tables.ts'
import { ArrivingChunk, discardArriving } from '../early/arriving-chunk.ts'
import { tusErrors } from '../errors.ts'
import { receivedBytes } from '../metrics.ts'
import { changeSource, type UploadContext } from '../source/coordinator.ts'
import { isComplete } from '../source/range.ts'
import { markReceived } from '../source/state.ts'
import * as store from '../source/store.ts'
import * as chunkStore from '../source/upload-chunk-store.ts'
import type { SourceRow } from '../tables.ts'
import { tusUploadInProgress } from './lock.ts'

/** The protocol requires the first one. */
export const checksumAlgorithms = ['sha1', 'sha256', 'sha512', 'md5']

export type Checksum = { algorithm: string; digest: string }

/** Reads `sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=`. */
export function readChecksum(header: string | undefined): Checksum | undefined {
  if (header === undefined) return undefined
  const [, algorithm = '', digest = ''] = /^(\S+) ([A-Za-z0-9+/]+={0,2})$/.exec(header) ?? []
  if (!checksumAlgorithms.includes(algorithm)) {
    const known = checksumAlgorithms.join(', ')
    throw new ApiError(tusErrors.invalidRequest, {
      name: 'Upload-Checksum',
      title: `Upload-Checksum must be an algorithm (${known}), a space and the digest in Base64.`,
    })
  }
  return { algorithm, digest }
}

/** Most clients send the entire file in one request. If this process is killed, at most this many bytes are lost. */
const chunkBytes = 64 * 1024 * 1024

type TusWrite = {
  source: SourceRow
  lockOwner: string
  offset: number
  checksum: Checksum | undefined
}

/** Stores the body in chunks and returns the new offset. If the body ends early, the received bytes count. */
export async function writeBody(context: UploadContext, write: TusWrite, body: Readable): Promise<number> {
  const { source, lockOwner, checksum } = write
  const { video_id: videoId } = source
  const hash = checksum && createHash(checksum.algorithm)
  // A body with a checksum counts completely or not at all, so it must be a single chunk.
  const chunks = new BodyChunks(body, checksum ? Number.POSITIVE_INFINITY : chunkBytes, hash)
  let offset = write.offset
  if (await chunks.isAtEnd()) {
    checkDigest(hash, checksum)
    // The request may have declared the length, and the upload may be complete now.
    await record(context, videoId, lockOwner, offset)
  }
  while (!(await chunks.isAtEnd())) {
    const arriving = new ArrivingChunk(context, source)
    let chunk: StoredChunk | undefined
    try {
      chunk = await writeChunk(context, source, { body: chunks.next(), offset, arriving })
      checkDigest(hash, checksum)
      await record(context, videoId, lockOwner, offset, { chunk, arriving })
    } catch (error) {
      await discardArriving(context, videoId, arriving)
      // After any other error the commit may have succeeded, and the chunk must stay.
      if (chunk && error instanceof ApiError) await removeChunk(context, source, chunk)
      throw error
    }
    context.metrics.count(receivedBytes, { method: 'tus' }, chunk.size)
    offset += chunk.size
  }
  return offset
}

async function writeChunk(
  { files }: UploadContext,
  { handle }: SourceRow,
  { body, offset, arriving }: { body: AsyncIterable<Buffer>; offset: number; arriving: ArrivingChunk },
): Promise<StoredChunk> {
  try {
    return await files.writeChunk(handle, body, { order: offset, offset, onWritten: arriving.onWritten })
  } catch (error) {
    // The video was deleted in the meantime, together with its files.
    throw error instanceof FileNotFoundError ? notFound('upload') : error
  }
}

/** A body that is read chunk by chunk. */
class BodyChunks {
  readonly #buffers: AsyncIterator<Buffer>
  readonly #maxBytes: number
  readonly #hash: Hash | undefined
  #next: Promise<IteratorResult<Buffer>>

  constructor(body: Readable, maxBytes: number, hash: Hash | undefined) {
    this.#buffers = body[Symbol.asyncIterator]()
    this.#maxBytes = maxBytes
    this.#hash = hash
    this.#next = this.#buffers.next()
    // The error is thrown where the promise is awaited.
    this.#next.catch(() => {})
  }

  async isAtEnd(): Promise<boolean> {
    return (await this.#next).done === true
  }

  async *next(): AsyncGenerator<Buffer> {
    for (let size = 0; size < this.#maxBytes; ) {
      const { value, done } = await this.#next
      if (done) return
      size += value.length
      this.#hash?.update(value)
      yield value
      this.#next = this.#buffers.next()
      this.#next.catch(() => {})
    }
  }
}

async function removeChunk(
  { files, log }: UploadContext,
  source: SourceRow,
  chunk: StoredChunk,
): Promise<void> {
  await files.removeChunk(source.handle, chunk).catch((err) => {
    log.warn(
      { err, videoId: source.video_id },
      'cannot remove a rejected chunk, it is removed with its upload',
    )
  })
}

function checkDigest(hash: Hash | undefined, checksum: Checksum | undefined): void {
  if (hash && hash.digest('base64') !== checksum?.digest)
    throw new ApiError(tusErrors.checksumMismatch, { name: 'Upload-Checksum' })
}

function record(
  context: UploadContext,
  videoId: string,
  lockOwner: string,
  offset: number,
  written?: { chunk: StoredChunk; arriving: ArrivingChunk },
): Promise<void> {
  return changeSource(context, videoId, async (trx) => {
    const source = await store.lockSource(trx, videoId)
    if (!source) throw notFound('upload')
    if (source.state !== 'receiving') return
    if (source.lock_owner !== lockOwner) throw tusUploadInProgress()
    const received = written
      ? await addChunk(trx, videoId, offset, written.chunk, context.now())
      : { count: source.received_pieces, bytes: source.received_bytes }
    if (written) {
      const { chunk, arriving } = written
      await arriving.record(trx, source, { chunk, position: offset, receivedBytes: received.bytes })
    }
    await store.updateSource(trx, videoId, { updated_at: context.now() })
    if (isComplete('bytes', source.total ?? undefined, received))
      await markReceived(context, trx, videoId, received.bytes)
  })
}

/** Chunks of the same video may arrive by other ways of uploading. */
async function addChunk(
  trx: Transaction<Tables>,
  videoId: string,
  offset: number,
  chunk: StoredChunk,
  now: Date,
): Promise<chunkStore.Received> {
  const range = { form: 'bytes', from: offset, to: offset + chunk.size - 1, total: undefined } as const
  if ((await chunkStore.findOthers(trx, videoId, range, { now })).isOverlapping) throw tusUploadInProgress()
  return chunkStore.addChunk(trx, videoId, offset, chunk)
}
