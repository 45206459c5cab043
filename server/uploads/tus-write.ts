import { createHash, type Hash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { Transaction } from 'kysely'
import { ApiError, notFound } from '../lib/errors.ts'
import { FileMissing, type Piece } from '../lib/files/files.ts'
import type { Tables } from '../tables.ts'
import { lookBeside } from './claim.ts'
import { tusErrors } from './errors.ts'
import * as pieceStore from './piece-store.ts'
import type { Deps } from './receive.ts'
import * as store from './store.ts'
import type { SourceRow } from './tables.ts'
import { inProgress } from './tus-lock.ts'

/** The first must be there, by the protocol. */
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

/**
 * Clients send a whole file in one request unless they are told otherwise: of one that is cut off by the death of this
 * process, at most so much is lost.
 */
const pieceBytes = 64 * 1024 * 1024

/** Writes what comes and returns the offset behind it; where the body ends early, what has come counts. */
export async function writeFrom(
  deps: Deps,
  source: SourceRow,
  holder: string,
  offset: number,
  body: Readable,
  checksum: Checksum | undefined,
): Promise<number> {
  const { video_id: videoId, handle } = source
  const chunks: AsyncIterator<Buffer> = body[Symbol.asyncIterator]()
  const hash = checksum && createHash(checksum.algorithm)
  // What has a checksum counts as a whole or not at all.
  const most = checksum ? Number.POSITIVE_INFINITY : pieceBytes
  let at = offset
  let next = await chunks.next()
  async function* onePiece(): AsyncGenerator<Buffer> {
    for (let size = 0; !next.done && size < most; next = await chunks.next()) {
      size += next.value.length
      hash?.update(next.value)
      yield next.value
    }
  }
  // Also for an empty body: the length may have become known just now, and be reached.
  if (next.done) {
    checkSum(hash, checksum)
    await record(deps, videoId, holder, at, undefined)
  }
  while (!next.done) {
    const piece = await deps.files.writePiece(handle, at, at, onePiece()).catch((error) => {
      // The video was deleted meanwhile, and its files with it.
      throw error instanceof FileMissing ? notFound('upload') : error
    })
    try {
      checkSum(hash, checksum)
      await record(deps, videoId, holder, at, piece)
    } catch (error) {
      // A commit whose answer was lost may have counted: then the piece must stay.
      if (error instanceof ApiError) {
        await deps.files.removePiece(handle, piece).catch((err) => {
          deps.log.warn({ err, videoId }, 'a piece that was refused goes only with its upload')
        })
      }
      throw error
    }
    at += piece.size
  }
  return at
}

function checkSum(hash: Hash | undefined, checksum: Checksum | undefined): void {
  if (hash && hash.digest('base64') !== checksum?.digest)
    throw new ApiError(tusErrors.checksumMismatch, { name: 'Upload-Checksum' })
}

function record(
  { db, queue, now, contention }: Deps,
  videoId: string,
  holder: string,
  at: number,
  piece: Piece | undefined,
): Promise<void> {
  const work = async (trx: Transaction<Tables>) => {
    const source = await store.lockSource(trx, videoId)
    if (!source) throw notFound('upload')
    if (source.state !== 'receiving') return
    if (source.lock_holder !== holder) throw inProgress()
    const received = piece ? await insertPiece(trx, videoId, at, piece, now()) : source.received_bytes
    const isAll = received === source.total
    await store.updateSource(trx, videoId, {
      updated_at: now(),
      ...(isAll && { state: 'received', size: received }),
    })
    if (isAll) await queue.send(trx, 'store-source', { videoId })
  }
  return contention.exclusively(videoId, () => db.transaction().execute(work))
}

/** How many bytes have arrived with this piece. Ranges may come into the same video by the other ways of uploading. */
async function insertPiece(
  trx: Transaction<Tables>,
  videoId: string,
  at: number,
  piece: Piece,
  now: Date,
): Promise<number> {
  const range = { form: 'bytes', from: at, to: at + piece.size - 1, total: undefined } as const
  if ((await lookBeside(trx, videoId, range, { now })).isOverlapping) throw inProgress()
  return (await pieceStore.addPiece(trx, videoId, at, piece)).bytes
}
