import { randomUUID } from 'node:crypto'
import type { Transaction } from 'kysely'
import type { Context } from '../../context.ts'
import { ApiError, notFound } from '../../lib/errors.ts'
import type { StoredChunk } from '../../lib/files/files.ts'
import type { Tables } from '../../tables.ts'
import { rangeErrors, uploadsErrors } from '../errors.ts'
import {
  beginSource,
  ensureUpload,
  isForeign,
  isLocked,
  isLost,
  newSource,
  replaceUpload,
  sourceExists,
  type UploadOrigin,
} from '../source/begin.ts'
import type { Membership, UploadCoordinator } from '../source/coordinator.ts'
import { checkAgainstReceived, offsetOf, positionOf, type Range, rangeError } from '../source/range.ts'
import { changeSource } from '../source/source-transaction.ts'
import * as store from '../source/store.ts'
import * as chunkStore from '../source/upload-chunk-store.ts'
import type { SourcePieceRow, SourceRow } from '../tables.ts'

/** The right to write a chunk, or a received chunk that the body must be equal to. */
export type Claim =
  | { kind: 'write'; lease: chunkStore.ChunkLease; handle: string; offset: number | undefined }
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

type Deps = Pick<Context, 'db' | 'files' | 'now' | 'log'> & { coordinator: UploadCoordinator }

export async function claimChunk(
  deps: Deps,
  membership: Membership,
  videoId: string,
  range: Range,
  origin: UploadOrigin,
): Promise<Claim> {
  await ensureSource(deps, videoId, range, origin)
  const until = deps.now().getTime() + waitMs
  let isLeased = false
  for (;;) {
    const wait = membership.listen()
    if (isLeased) isLeased = await isStillLeased(deps, videoId, range)
    const claim = isLeased ? undefined : await tryToClaim(deps, videoId, range, origin)
    if (claim) return claim
    isLeased = true
    if (deps.now().getTime() > until) throw uploadInProgress()
    await wait(pollMs)
  }
}

export const uploadInProgress = () =>
  new ApiError(uploadsErrors.inProgress, { headers: { 'retry-after': '10' } })

async function ensureSource(deps: Deps, videoId: string, range: Range, origin: UploadOrigin): Promise<void> {
  const found = await store.findSource(deps.db, videoId)
  const createRow = (handle: string) => newSource(videoId, range.form, handle, origin, deps.now())
  // If another request of the same upload inserts its source first, both use that one.
  if (!found) await beginSource(deps, videoId, createRow)
  else if (await isLost(deps, found)) await replaceUpload(deps, videoId, createRow)
  else await ensureUpload(deps, found)
}

/** Reads one row without locking it. */
async function isStillLeased({ db, now }: Deps, videoId: string, range: Range): Promise<boolean> {
  const row = await chunkStore.findChunk(db, videoId, positionOf(range))
  return row !== undefined && isLeasedAt(row, now())
}

const isLeasedAt = ({ lease_until: until }: SourcePieceRow, time: Date) => until !== null && until > time

/** Undefined while another request writes the same chunk. */
const tryToClaim = (deps: Deps, videoId: string, range: Range, origin: UploadOrigin) =>
  changeSource(deps, videoId, (trx) => claimIn(trx, deps.now(), videoId, range, origin))

async function claimIn(
  trx: Transaction<Tables>,
  time: Date,
  videoId: string,
  range: Range,
  origin: UploadOrigin,
): Promise<Claim | undefined> {
  const source = await store.lockSource(trx, videoId)
  if (!source) throw notFound('videoId')
  const position = positionOf(range)
  const own = await chunkStore.findChunk(trx, videoId, position)
  // A received chunk at the same position counts as another chunk: a range that differs from it must not overlap it.
  const except = own?.place ? {} : { except: position }
  const others = await findOthers(trx, videoId, range, { ...except, now: time })
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
  if (!hasStarted && !isSameUpload)
    await store.replaceSource(trx, newSource(videoId, range.form, source.handle, origin, time))
  else
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

/** The last chunk of the source, and whether any chunk overlaps with the range. */
export async function findOthers(
  trx: Transaction<Tables>,
  videoId: string,
  range: Range,
  options: { except?: number; now?: Date },
) {
  const last = await chunkStore.findLast(trx, videoId, options)
  if (range.form !== 'bytes' || !last) return { last, isOverlapping: false }
  const { from, to } = range
  const before =
    last.position <= to ? last : await chunkStore.findLast(trx, videoId, { ...options, upTo: to })
  return { last, isOverlapping: before !== undefined && before.position + before.size > from }
}

/** The chunk was received before with different content. */
export function differsFromReceived(range: Range): ApiError {
  const name = 'Content-Range'
  if (range.form === 'parts') return new ApiError(rangeErrors['by-part-part-already-sent'], { name })
  if (range.form === 'bytes') return new ApiError(rangeErrors['by-bytes-range-overlap'], { name })
  return new ApiError(uploadsErrors.alreadyUploaded)
}
