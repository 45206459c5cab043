import { randomUUID } from 'node:crypto'
import type { Transaction } from 'kysely'
import { ApiError, notFound } from '../../lib/errors.ts'
import type { StoredChunk } from '../../lib/files/files.ts'
import type { Tables } from '../../tables.ts'
import { rangeErrors, uploadsErrors } from '../errors.ts'
import { discardArrived } from '../source/arrival.ts'
import {
  beginSource,
  ensureUpload,
  isForeign,
  isLocked,
  isLost,
  isUnreadable,
  newSource,
  replaceUpload,
  sourceExists,
  type UploadOrigin,
} from '../source/begin.ts'
import { changeSource, type Membership, type UploadContext } from '../source/coordinator.ts'
import {
  checkAgainstReceived,
  isFirst,
  offsetOf,
  positionOf,
  type Range,
  rangeError,
} from '../source/range.ts'
import * as store from '../source/store.ts'
import * as chunkStore from '../source/upload-chunk-store.ts'
import type { SourcePieceRow, SourceRow } from '../tables.ts'

/**
 * The right to write a chunk, or a received chunk that the body must be equal to.
 *
 * Three claims guard the bytes of an upload, and none can replace another:
 * - The lease of a chunk, which is taken here, decides which request may record the chunk. It is a row, so it is valid in
 *   every process and for every file store. It expires, because a client that lost its connection sends the chunk again
 *   and must not wait for a request that is gone. So its last owner may still be writing.
 * - The claim of the disk store (`lib/files/disk-claims.ts`) decides which writer may touch a byte of the shared file. It
 *   never expires. It is needed because of that last owner, and because writers with valid leases can want the same
 *   bytes: the offset of a part is a guess, and a tus request or a download does not know where it ends. The writer that
 *   comes second gets a file of its own. S3 needs no such claim, as every chunk is an object of its own.
 * - The lock of a tus upload (`tus/lock.ts`) allows one request for the entire source, because each continues where the
 *   last one ended. A new request does not wait for the lease to expire: it ends the last request, which its client has
 *   left. A chunk that is leased meanwhile is not overwritten: `tus/write.ts` checks that before it records bytes.
 */
export type UploadChunkClaim =
  | { kind: 'write'; lease: chunkStore.UploadChunkLease; handle: string; offset: number | undefined }
  | { kind: 'compare'; handle: string; chunk: StoredChunk }

/** A lease is renewed while bytes arrive. When it expires, its client or its process is gone. */
export const leaseMs = 10_000
export const renewMs = leaseMs / 3
/**
 * A client may send a chunk again before the server notices that the last connection, or process, is gone. The lease of
 * a silent client expires after a last renewal and the lease time: 13.4 s at most.
 */
const waitMs = 20_000
/** Requests of this process wake each other. Polling is for other processes and silent clients. */
const pollMs = 1_000

export async function claimUploadChunk(
  context: UploadContext,
  membership: Membership,
  videoId: string,
  range: Range,
  origin: UploadOrigin,
): Promise<UploadChunkClaim> {
  await ensureSource(context, videoId, range, origin)
  const until = context.now().getTime() + waitMs
  let isLeased = false
  for (;;) {
    const wait = membership.listen()
    if (isLeased) isLeased = await isStillLeased(context, videoId, range)
    const claim = isLeased ? undefined : await tryToClaim(context, videoId, range, origin)
    if (claim) return claim
    isLeased = true
    if (context.now().getTime() > until) throw chunkInProgress()
    await wait(pollMs)
  }
}

export const chunkInProgress = () =>
  new ApiError(uploadsErrors.inProgress, { headers: { 'retry-after': '10' } })

async function ensureSource(
  context: UploadContext,
  videoId: string,
  range: Range,
  origin: UploadOrigin,
): Promise<void> {
  const found = await store.findSource(context.db, videoId)
  const createRow = (handle: string) => newSource(videoId, range.form, handle, origin, context.now())
  // If another request of the same upload inserts its source first, both use that one.
  if (!found) await beginSource(context, videoId, createRow)
  else if ((await isLost(context, found)) || (isFirst(range) && (await isUnreadable(context, found))))
    await replaceUpload(context, videoId, createRow)
  // A later chunk may be the repeated end of the unreadable file.
  else await ensureUpload(context, found)
}

/** Reads one row without locking it. */
async function isStillLeased({ db, now }: UploadContext, videoId: string, range: Range): Promise<boolean> {
  const row = await chunkStore.findChunk(db, videoId, positionOf(range))
  return row !== undefined && isLeasedAt(row, now())
}

const isLeasedAt = ({ lease_until: until }: SourcePieceRow, time: Date) => until !== null && until > time

/** Undefined while another request writes the same chunk. */
const tryToClaim = (context: UploadContext, videoId: string, range: Range, origin: UploadOrigin) =>
  changeSource(context, videoId, (trx) => claimIn(trx, context, videoId, range, origin))

async function claimIn(
  trx: Transaction<Tables>,
  { queue, now }: UploadContext,
  videoId: string,
  range: Range,
  origin: UploadOrigin,
): Promise<UploadChunkClaim | undefined> {
  const time = now()
  const source = await store.lockSource(trx, videoId)
  if (!source) throw notFound('videoId')
  const position = positionOf(range)
  const own = await chunkStore.findChunk(trx, videoId, position)
  // A received chunk at the same position counts as another chunk: a range that differs from it must not overlap it.
  const except = own?.place ? {} : { except: position }
  const others = await chunkStore.findOthers(trx, videoId, range, { ...except, now: time })
  const isOwnLeased = own !== undefined && isLeasedAt(own, time)
  const hasStarted = isOwnLeased || others.last !== undefined || isLocked(source, time)
  const isOfOther = isForeign(origin, source)
  if (isOfOther && hasStarted) {
    if (source.state !== 'receiving') throw sourceExists(source.form)
    throw rangeError('already-initiated', 'Another upload to this video has started.')
  }
  if (own?.place && source.form === range.form && isSameRange(range, own))
    return { kind: 'compare', handle: source.handle, chunk: { location: own.place, size: own.size } }
  if (source.state !== 'receiving') throw sourceExists(source.form)
  if (isOwnLeased) return undefined
  // Nothing has arrived yet, so the upload can start again in another form, or by another key or token. It then does not
  // belong to whoever created the row.
  const isSameUpload =
    source.form === range.form && source.created_by === origin.created_by && source.tus_metadata === null
  if (!hasStarted && !isSameUpload) {
    await discardArrived(queue, trx, source)
    await store.replaceSource(trx, newSource(videoId, range.form, source.handle, origin, time))
  } else
    checkAgainstReceived(range, {
      form: source.form as Range['form'],
      total: source.total ?? undefined,
      ...others,
    })
  const lease = { videoId, position, owner: randomUUID() }
  const size = range.form === 'bytes' ? range.to - range.from + 1 : 0
  await chunkStore.leaseChunk(trx, lease, size, new Date(time.getTime() + leaseMs))
  return { kind: 'write', lease, handle: source.handle, offset: await guessOffset(trx, source, range) }
}

async function guessOffset(trx: Transaction<Tables>, source: SourceRow, range: Range) {
  const isLaterPart = range.form === 'parts' && range.part > 1
  const { video_id: videoId, received_pieces: count, received_bytes: bytes } = source
  const first = isLaterPart ? await chunkStore.findFirst(trx, videoId) : undefined
  const last = isLaterPart ? await chunkStore.findLast(trx, videoId) : undefined
  return offsetOf(range, { count, bytes, first, last })
}

/** A byte range that begins where a chunk begins but ends elsewhere is a different, overlapping range. */
const isSameRange = (range: Range, chunk: SourcePieceRow) =>
  range.form !== 'bytes' || chunk.size === range.to - range.from + 1

/** The chunk was received before with different content. */
export function differsFromReceived(range: Range): ApiError {
  const name = 'Content-Range'
  if (range.form === 'parts') return new ApiError(rangeErrors['by-part-part-already-sent'], { name })
  if (range.form === 'bytes') return new ApiError(rangeErrors['by-bytes-range-overlap'], { name })
  return new ApiError(uploadsErrors.alreadyUploaded)
}
