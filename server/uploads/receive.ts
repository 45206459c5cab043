import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { Transaction } from 'kysely'
import type { Context } from '../context.ts'
import { ApiError, notFound } from '../lib/errors.ts'
import { FileMissing, type Piece } from '../lib/files/files.ts'
import type { Tables } from '../tables.ts'
import { alreadyFilled, newSource, type Sender, sourceKey } from './begin.ts'
import {
  type Claim,
  claimPiece,
  differsFromReceived,
  holdMs,
  inProgress,
  lookBeside,
  renewMs,
} from './claim.ts'
import type { Contention } from './contention.ts'
import * as pieceStore from './piece-store.ts'
import { checkBeside, checkSize, isComplete, positionOf, type Range } from './range.ts'
import * as store from './store.ts'
import type { SourceRow } from './tables.ts'

export type Deps = Pick<Context, 'db' | 'files' | 'queue' | 'now' | 'log'> & { contention: Contention }

/** One that writes and some that wait: a client sends a piece again when it has lost a connection, not by the dozen. */
const maxRequestsForPiece = 5

/** Takes in one piece of a video's source. When this returns, the piece is durable and known. */
export async function receivePiece(
  deps: Deps,
  videoId: string,
  range: Range,
  sender: Sender,
  body: Readable,
): Promise<void> {
  const entry = deps.contention.enter(`${videoId} ${positionOf(range)}`, maxRequestsForPiece)
  if (!entry) throw inProgress()
  try {
    const claim = await claimPiece(deps, entry, videoId, range, sender)
    if (claim.kind === 'compare') await compare(deps, videoId, range, claim, body)
    else await take(deps, videoId, range, claim, body)
  } finally {
    entry.leave()
  }
}

type CompareClaim = Extract<Claim, { kind: 'compare' }>
type WriteClaim = Extract<Claim, { kind: 'write' }>

async function compare(deps: Deps, videoId: string, range: Range, claim: CompareClaim, body: Readable) {
  const received = await hashOf(await openReceived(deps, videoId, range, claim))
  if ((await hashOf(body)) !== received) throw differsFromReceived(range)
  if (range.form !== 'whole' && range.total !== undefined) await restate(deps, videoId, range)
}

async function take(deps: Deps, videoId: string, range: Range, claim: WriteClaim, body: Readable) {
  try {
    const piece = await write(deps, videoId, range, claim, body)
    await record(deps, videoId, range, claim, piece)
  } catch (error) {
    await pieceStore.releasePiece(deps.db, claim.held).catch((err) => {
      deps.log.warn({ err, videoId }, 'a claim could not be released, it ends by itself')
    })
    throw error
  }
}

async function hashOf(body: Readable): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of body) hash.update(chunk)
  return hash.digest('hex')
}

/** It moves to where the whole is kept when everything has arrived. */
async function openReceived(
  { db, files }: Deps,
  videoId: string,
  range: Range,
  { handle, piece }: CompareClaim,
): Promise<Readable> {
  try {
    return await files.readPiece(handle, piece)
  } catch (error) {
    if (!(error instanceof FileMissing)) throw error
    const position = positionOf(range)
    const from = range.form === 'parts' ? await pieceStore.sumBefore(db, videoId, position) : position
    return files.read(sourceKey(videoId), { from, to: from + piece.size - 1 })
  }
}

async function write(
  deps: Deps,
  videoId: string,
  range: Range,
  claim: WriteClaim,
  body: Readable,
): Promise<Piece> {
  const lost = new AbortController()
  const client: Patience = { awaitedSince: undefined }
  const timer = setInterval(async () => {
    const time = deps.now().getTime()
    // The end of a client that vanished is not told to us: whoever sends the piece again need not wait for it.
    if (client.awaitedSince !== undefined && time - client.awaitedSince > renewMs) return
    const until = new Date(time + holdMs)
    const isKept = await pieceStore.keepHolding(deps.db, claim.held, until).catch(() => true)
    if (!isKept) lost.abort(await whyLost(deps, videoId))
  }, renewMs)
  try {
    const { handle, offset } = claim
    const piece = await deps.files.writePiece(
      handle,
      positionOf(range),
      offset,
      limited(body, range, client, deps.now),
      lost.signal,
      range.form === 'bytes' ? range.to - range.from + 1 : undefined,
    )
    try {
      checkSize(range, piece.size)
    } catch (error) {
      await deps.files.removePiece(handle, piece)
      throw error
    }
    return piece
  } catch (error) {
    // Deleted with its video while it came.
    if (error instanceof FileMissing) throw notFound('videoId')
    throw lost.signal.aborted ? lost.signal.reason : error
  } finally {
    clearInterval(timer)
  }
}

/** Since when it is the client that we wait for, not the disk; undefined while it is not. */
type Patience = { awaitedSince: number | undefined }

/** A claim goes with its video, or to another request while nothing came. */
async function whyLost({ db }: Deps, videoId: string): Promise<ApiError> {
  const isThere = await store.findSource(db, videoId).then(Boolean, () => true)
  return isThere ? inProgress() : notFound('videoId')
}

/** A body that is longer than its range says must not run into its neighbour. Notes for whom it waits. */
export async function* limited(
  body: Readable,
  range: Range,
  client: Patience = { awaitedSince: undefined },
  now = () => new Date(),
): AsyncGenerator<Buffer> {
  let size = 0
  client.awaitedSince = now().getTime()
  for await (const chunk of body) {
    client.awaitedSince = undefined
    size += chunk.length
    if (range.form === 'bytes' && size > range.to - range.from + 1) checkSize(range, size)
    yield chunk
    client.awaitedSince = now().getTime()
  }
  client.awaitedSince = undefined
}

async function record(
  deps: Deps,
  videoId: string,
  range: Range,
  claim: WriteClaim,
  piece: Piece,
): Promise<void> {
  const work = async (trx: Transaction<Tables>) => {
    const source = await store.lockSource(trx, videoId)
    if (!source) throw notFound('videoId')
    // What came meanwhile may have settled otherwise.
    if (source.state !== 'receiving') throw alreadyFilled(source.form)
    await checkTotal(trx, source, range)
    const received = await pieceStore.recordPiece(trx, claim.held, piece)
    if (!received) throw inProgress()
    await settle(deps, trx, source, range, received)
  }
  try {
    await deps.contention.exclusively(videoId, () => deps.db.transaction().execute(work))
  } catch (error) {
    // A commit whose answer was lost may have counted: then the piece must stay.
    if (error instanceof ApiError) await deps.files.removePiece(claim.handle, piece)
    throw error
  }
}

/** A piece that is there already may still be the first to say how many there are. */
function restate(deps: Deps, videoId: string, range: Range): Promise<void> {
  const work = async (trx: Transaction<Tables>) => {
    const source = await store.lockSource(trx, videoId)
    if (!source) return
    await checkTotal(trx, source, range)
    if (source.state !== 'receiving') return
    const received = { pieces: source.received_pieces, bytes: source.received_bytes }
    await settle(deps, trx, source, range, received)
  }
  return deps.contention.exclusively(videoId, () => deps.db.transaction().execute(work))
}

/** Refuses a total that does not fit what has arrived. */
async function checkTotal(trx: Transaction<Tables>, source: SourceRow, range: Range): Promise<void> {
  const beside = await lookBeside(trx, source.video_id, range, { except: positionOf(range) })
  checkBeside(range, { form: range.form, total: source.total ?? undefined, ...beside })
}

/** Notes the total that a request states, and whether all is there now. */
async function settle(
  { queue, now }: Deps,
  trx: Transaction<Tables>,
  source: SourceRow,
  range: Range,
  received: { pieces: number; bytes: number },
): Promise<void> {
  const videoId = source.video_id
  const stated = range.form === 'whole' ? undefined : range.total
  const total = stated ?? source.total ?? undefined
  const isAll = isComplete(range.form, total, received)
  await store.updateSource(trx, videoId, {
    total: total ?? null,
    updated_at: now(),
    ...(isAll && { state: 'received', size: received.bytes }),
  })
  if (isAll) await queue.send(trx, 'store-source', { videoId })
}

/** Makes a piece that is stored already the beginning of a video's source. False when the source has begun. */
export async function adoptPiece(
  deps: Deps,
  videoId: string,
  range: Range,
  sender: Sender,
  { handle, piece }: { handle: string; piece: Piece },
): Promise<boolean> {
  const row = newSource(videoId, range.form, handle, sender, deps.now())
  const work = async (trx: Transaction<Tables>) => {
    if (!(await store.insertSource(trx, row))) return false
    const received = await pieceStore.addPiece(trx, videoId, positionOf(range), piece)
    await settle(deps, trx, row, range, received)
    return true
  }
  return deps.contention.exclusively(videoId, () => deps.db.transaction().execute(work))
}
