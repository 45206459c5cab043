import { createHash, type Hash, randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { Transaction } from 'kysely'
import type { Context } from '../contracts/context.ts'
import type { SourceRow, Tables } from '../contracts/tables.ts'
import { ApiError, notFound } from '../lib/errors.ts'
import { FileMissing, type Piece } from '../lib/files/files.ts'
import { holdMs } from './claim.ts'
import * as store from './store.ts'
import { holdsLock } from './tus-lock.ts'
import { TusProblem } from './tus-problem.ts'

type Deps = Pick<Context, 'db' | 'files' | 'queue' | 'now' | 'log'>

/** The first must be there, by the protocol. */
export const checksumAlgorithms = ['sha1', 'sha256', 'sha512', 'md5']

export type Checksum = { algorithm: string; digest: string }

/** Reads `sha1 Kq5sNclPz7QV2+lfQIuc6R7oRu0=`. */
export function readChecksum(header: string | undefined): Checksum | undefined {
  if (header === undefined) return undefined
  const [, algorithm = '', digest = ''] = /^(\S+) ([A-Za-z0-9+/]+={0,2})$/.exec(header) ?? []
  if (!checksumAlgorithms.includes(algorithm)) {
    const known = checksumAlgorithms.join(', ')
    throw new TusProblem(
      400,
      `Upload-Checksum must be an algorithm (${known}), a space and the digest in Base64.`,
    )
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
      await deps.files.removePiece(handle, piece).catch((err) => {
        deps.log.warn({ err, videoId }, 'a piece that was refused goes only with its upload')
      })
      throw error
    }
    at += piece.size
  }
  return at
}

function checkSum(hash: Hash | undefined, checksum: Checksum | undefined): void {
  if (hash && hash.digest('base64') !== checksum?.digest)
    throw new TusProblem(460, 'The body has not the checksum that Upload-Checksum tells.')
}

function record(
  { db, queue, now }: Deps,
  videoId: string,
  holder: string,
  at: number,
  piece: Piece | undefined,
): Promise<void> {
  return db.transaction().execute(async (trx) => {
    const source = await store.lockSource(trx, videoId)
    if (!source) throw notFound('upload')
    if (source.state !== 'receiving') return
    if (!(await holdsLock(trx, videoId, holder))) throw new ApiError('upload-in-progress')
    if (piece) await insertPiece(trx, videoId, at, piece, now())
    const received = at + (piece?.size ?? 0)
    const isAll = received === source.total
    await store.updateSource(trx, videoId, {
      updated_at: now(),
      ...(isAll && { state: 'received', size: received }),
    })
    if (isAll) await queue.send(trx, 'store-source', { videoId })
  })
}

/** Ranges may come into the same video by the other ways of uploading. */
async function insertPiece(
  trx: Transaction<Tables>,
  videoId: string,
  at: number,
  piece: Piece,
  time: Date,
): Promise<void> {
  const others = await store.listPieces(trx, videoId)
  const isInTheWay = others.some(
    ({ position, size, place, held_until }) =>
      position < at + piece.size &&
      position + size > at &&
      (place !== null || (held_until !== null && held_until > time)),
  )
  if (isInTheWay) throw new ApiError('upload-in-progress')
  const writer = randomUUID()
  await store.holdPiece(
    trx,
    { video_id: videoId, position: at, size: piece.size },
    writer,
    new Date(time.getTime() + holdMs),
  )
  await store.recordPiece(trx, videoId, writer, piece)
}
