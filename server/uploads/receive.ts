import { createHash, randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import type { Transaction } from 'kysely'
import type { Context } from '../contracts/context.ts'
import type { SourceRow, Tables } from '../contracts/tables.ts'
import { ApiError, notFound } from '../lib/errors.ts'
import { FileMissing, type Piece } from '../lib/files/files.ts'
import {
  alreadyFilled,
  type Claim,
  claimPiece,
  differsFromReceived,
  holdMs,
  inProgress,
  newSource,
  renewMs,
  type Sender,
  sourceKey,
} from './claim.ts'
import { checkBeside, checkSize, isComplete, positionOf, type Range } from './range.ts'
import * as store from './store.ts'

type Deps = Pick<Context, 'db' | 'files' | 'queue' | 'now' | 'log'>

/** Takes in one piece of a video's source. When this returns, the piece is durable and known. */
export async function receivePiece(
  deps: Deps,
  videoId: string,
  range: Range,
  sender: Sender,
  body: Readable,
): Promise<void> {
  const claim = await claimPiece(deps, videoId, range, sender)
  if (claim.kind === 'compare') {
    const received = await hashOf(await openReceived(deps, videoId, claim))
    if ((await hashOf(body)) !== received) throw differsFromReceived(range)
    if (range.form !== 'whole' && range.total !== undefined) await restate(deps, videoId, range)
    return
  }
  try {
    const piece = await write(deps, videoId, range, claim, body)
    await record(deps, videoId, range, claim, piece)
  } catch (error) {
    await store.releasePiece(deps.db, videoId, claim.holder).catch((err) => {
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
  { files }: Deps,
  videoId: string,
  { handle, piece, offset }: Extract<Claim, { kind: 'compare' }>,
): Promise<Readable> {
  try {
    return await files.readPiece(handle, piece)
  } catch (error) {
    if (!(error instanceof FileMissing)) throw error
    return files.read(sourceKey(videoId), { from: offset, to: offset + piece.size - 1 })
  }
}

type WriteClaim = Extract<Claim, { kind: 'write' }>

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
    const isKept = await store.keepHolding(deps.db, videoId, claim.holder, until).catch(() => true)
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
  await deps.db
    .transaction()
    .execute(async (trx) => {
      const source = await store.lockSource(trx, videoId)
      if (!source) throw notFound('videoId')
      // What came meanwhile may have settled otherwise.
      if (source.state !== 'receiving') throw alreadyFilled(source.form)
      await checkTotal(trx, source, range)
      if (!(await store.recordPiece(trx, videoId, claim.holder, piece))) throw inProgress()
      await settle(deps, trx, source, range)
    })
    .catch(async (error) => {
      // A commit whose answer was lost may have counted: then the piece must stay.
      if (error instanceof ApiError) await deps.files.removePiece(claim.handle, piece)
      throw error
    })
}

/** A piece that is there already may still be the first to say how many there are. */
function restate(deps: Deps, videoId: string, range: Range): Promise<void> {
  return deps.db.transaction().execute(async (trx) => {
    const source = await store.lockSource(trx, videoId)
    if (!source) return
    await checkTotal(trx, source, range)
    if (source.state === 'receiving') await settle(deps, trx, source, range)
  })
}

/** Refuses a total that does not fit what has arrived. */
async function checkTotal(trx: Transaction<Tables>, source: SourceRow, range: Range): Promise<void> {
  const pieces = (await store.listPieces(trx, source.video_id)).filter(
    ({ position, place }) => place !== null && position !== positionOf(range),
  )
  checkBeside(range, { form: range.form, total: source.total ?? undefined, pieces })
}

/** Notes the total that a request states, and whether all is there now. */
async function settle(
  { queue, now }: Deps,
  trx: Transaction<Tables>,
  source: SourceRow,
  range: Range,
): Promise<void> {
  const videoId = source.video_id
  const pieces = (await store.listPieces(trx, videoId)).filter(({ place }) => place !== null)
  const stated = range.form === 'whole' ? undefined : range.total
  const total = stated ?? source.total ?? undefined
  const isAll = isComplete({ form: range.form, total, pieces })
  await store.updateSource(trx, videoId, {
    total: total ?? null,
    updated_at: now(),
    ...(isAll && { state: 'received', size: pieces.reduce((sum, { size }) => sum + size, 0) }),
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
  return deps.db.transaction().execute(async (trx) => {
    if (!(await store.insertSource(trx, row))) return false
    const holder = randomUUID()
    const position = positionOf(range)
    await store.holdPiece(trx, { video_id: videoId, position, size: piece.size }, holder, row.created_at)
    await store.recordPiece(trx, videoId, holder, piece)
    await settle(deps, trx, row, range)
    return true
  })
}
