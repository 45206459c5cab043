import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { Transaction } from 'kysely'
import { ApiError, notFound } from '../../lib/errors.ts'
import { FileNotFoundError, type StoredChunk } from '../../lib/files/files.ts'
import type { Tables } from '../../tables.ts'
import { sourceKey } from '../../videos/files.ts'
import { ArrivingChunk, discardArriving } from '../early/arriving-chunk.ts'
import { uploadsErrors } from '../errors.ts'
import { receivedBytes } from '../metrics.ts'
import { examineIfDue } from '../source/arrival.ts'
import { newSource, sourceExists, type UploadOrigin } from '../source/begin.ts'
import { changeSource, type UploadContext } from '../source/coordinator.ts'
import { checkAgainstReceived, checkSize, isComplete, positionOf, type Range } from '../source/range.ts'
import { markReceived } from '../source/state.ts'
import * as store from '../source/store.ts'
import * as chunkStore from '../source/upload-chunk-store.ts'
import type { SourceRow } from '../tables.ts'
import {
  chunkInProgress,
  claimUploadChunk,
  differsFromReceived,
  leaseMs,
  renewMs,
  type UploadChunkClaim,
} from './claim.ts'
import { RangeBody } from './range-body.ts'

/** One request that writes and some that wait. Clients send a chunk again only after they lost a connection. */
const maxRequestsForChunk = 5

/** Receives one chunk of a video's source. When this returns, the chunk is durable and recorded. */
export async function receiveChunk(
  context: UploadContext,
  videoId: string,
  range: Range,
  origin: UploadOrigin,
  body: Readable,
): Promise<void> {
  const membership = context.coordinator.join(`${videoId} ${positionOf(range)}`, maxRequestsForChunk)
  if (!membership) throw chunkInProgress()
  try {
    const claim = await claimUploadChunk(context, membership, videoId, range, origin)
    if (claim.kind === 'compare') await compare(context, videoId, range, claim, body)
    else await receiveNew(context, videoId, range, claim, body)
  } finally {
    membership.leave()
  }
}

type CompareClaim = Extract<UploadChunkClaim, { kind: 'compare' }>
type WriteClaim = Extract<UploadChunkClaim, { kind: 'write' }>

async function compare(
  context: UploadContext,
  videoId: string,
  range: Range,
  claim: CompareClaim,
  body: Readable,
) {
  const receivedHash = await hashOf(await openReceived(context, videoId, range, claim))
  if ((await hashOf(body)) !== receivedHash) throw differsFromReceived(range)
  if (range.form !== 'whole' && range.total !== undefined) await recordTotal(context, videoId, range)
}

async function receiveNew(
  context: UploadContext,
  videoId: string,
  range: Range,
  claim: WriteClaim,
  body: Readable,
) {
  const arriving = new ArrivingChunk(context, { video_id: videoId, handle: claim.handle })
  try {
    const chunk = await write(context, videoId, range, claim, { body, onWritten: arriving.onWritten })
    await record(context, videoId, range, claim, { chunk, arriving })
  } catch (error) {
    await discardArriving(context, videoId, arriving)
    await chunkStore.releaseChunkLease(context.db, claim.lease).catch((err) => {
      context.log.warn({ err, videoId }, 'cannot release the lease of a chunk, it expires by itself')
    })
    throw error
  }
}

async function hashOf(body: Readable): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of body) hash.update(chunk)
  return hash.digest('hex')
}

/** Once the upload is finished, the chunk is part of the source file. */
async function openReceived(
  { db, files }: UploadContext,
  videoId: string,
  range: Range,
  { handle, chunk }: CompareClaim,
): Promise<Readable> {
  try {
    return await files.readChunk(handle, chunk)
  } catch (error) {
    if (!(error instanceof FileNotFoundError)) throw error
    const position = positionOf(range)
    const from = range.form === 'parts' ? await chunkStore.sumBefore(db, videoId, position) : position
    return files.read(sourceKey(videoId), { from, to: from + chunk.size - 1 }).catch((error) => {
      // The file was lost after the video was encoded, and is not needed any more.
      throw error instanceof FileNotFoundError ? new ApiError(uploadsErrors.alreadyUploaded) : error
    })
  }
}

async function write(
  context: UploadContext,
  videoId: string,
  range: Range,
  { handle, offset, lease }: WriteClaim,
  { body, onWritten }: { body: Readable; onWritten: ArrivingChunk['onWritten'] },
): Promise<StoredChunk> {
  const rangeBody = new RangeBody(body, range, context.now)
  const lost = new AbortController()
  const timer = setInterval(async () => {
    // The server is not told when a client vanishes. A client that sends the chunk again must not wait for it.
    if (rangeBody.waitingMs() > renewMs) return
    const until = new Date(context.now().getTime() + leaseMs)
    const isKept = await chunkStore.renewChunkLease(context.db, lease, until).catch(() => true)
    if (!isKept) lost.abort(await whyLost(context, videoId))
  }, renewMs)
  try {
    const chunk = await context.files.writeChunk(handle, rangeBody, {
      order: positionOf(range),
      offset,
      length: range.form === 'bytes' ? range.to - range.from + 1 : undefined,
      signal: lost.signal,
      onWritten,
    })
    try {
      checkSize(range, chunk.size)
    } catch (error) {
      await context.files.removeChunk(handle, chunk)
      throw error
    }
    return chunk
  } catch (error) {
    // The video was deleted in the meantime.
    if (error instanceof FileNotFoundError) throw notFound('videoId')
    throw lost.signal.aborted ? lost.signal.reason : error
  } finally {
    clearInterval(timer)
  }
}

/** A lease is lost when its video is deleted, or to another request while the client sent nothing. */
async function whyLost({ db }: UploadContext, videoId: string): Promise<ApiError> {
  const exists = await store.findSource(db, videoId).then(Boolean, () => true)
  return exists ? chunkInProgress() : notFound('videoId')
}

async function record(
  context: UploadContext,
  videoId: string,
  range: Range,
  { lease, handle }: WriteClaim,
  { chunk, arriving }: { chunk: StoredChunk; arriving: ArrivingChunk },
): Promise<void> {
  try {
    await changeSource(context, videoId, async (trx) => {
      const source = await store.lockSource(trx, videoId)
      if (!source) throw notFound('videoId')
      // Other requests may have changed the source since the claim.
      if (source.state !== 'receiving') throw sourceExists(source.form)
      await checkTotal(trx, source, range)
      const received = await chunkStore.recordChunk(trx, lease, chunk)
      if (!received) throw chunkInProgress()
      const position = range.form === 'parts' ? undefined : lease.position
      await arriving.record(trx, source, { chunk, position, receivedBytes: received.bytes })
      await recordProgress(context, trx, source, range, received)
    })
    context.metrics.count(receivedBytes, { method: 'request' }, chunk.size)
  } catch (error) {
    // After any other error the commit may have succeeded, and the chunk must stay.
    if (error instanceof ApiError) await context.files.removeChunk(handle, chunk)
    throw error
  }
}

/** A chunk that is sent again may be the first one that states the total. */
function recordTotal(context: UploadContext, videoId: string, range: Range): Promise<void> {
  return changeSource(context, videoId, async (trx) => {
    const source = await store.lockSource(trx, videoId)
    if (!source) return
    await checkTotal(trx, source, range)
    if (source.state !== 'receiving') return
    const received = { count: source.received_pieces, bytes: source.received_bytes }
    await recordProgress(context, trx, source, range, received)
  })
}

/** Rejects a total that contradicts the received chunks. */
async function checkTotal(trx: Transaction<Tables>, source: SourceRow, range: Range): Promise<void> {
  const others = await chunkStore.findOthers(trx, source.video_id, range, { except: positionOf(range) })
  checkAgainstReceived(range, { form: range.form, total: source.total ?? undefined, ...others })
}

/** Records the total that a request states, and completes the upload if everything has arrived. */
async function recordProgress(
  context: UploadContext,
  trx: Transaction<Tables>,
  { video_id: videoId, total: knownTotal }: SourceRow,
  range: Range,
  received: chunkStore.Received,
): Promise<void> {
  const statedTotal = range.form === 'whole' ? undefined : range.total
  const total = statedTotal ?? knownTotal ?? undefined
  await store.updateSource(trx, videoId, { total: total ?? null, updated_at: context.now() })
  if (isComplete(range.form, total, received)) await markReceived(context, trx, videoId, received.bytes)
}

/** Makes a stored chunk the first one of a video's source. False when the source exists already. */
export async function adoptChunk(
  context: UploadContext,
  videoId: string,
  range: Range,
  origin: UploadOrigin,
  { handle, chunk }: { handle: string; chunk: StoredChunk },
): Promise<boolean> {
  const row = newSource(videoId, range.form, handle, origin, context.now())
  const isAdopted = await changeSource(context, videoId, async (trx) => {
    if (!(await store.insertSource(trx, row))) return false
    const received = await chunkStore.addChunk(trx, videoId, positionOf(range), chunk)
    await examineIfDue(context, trx, row, received.bytes)
    await recordProgress(context, trx, row, range, received)
    return true
  })
  if (isAdopted) context.metrics.count(receivedBytes, { method: 'request' }, chunk.size)
  return isAdopted
}
