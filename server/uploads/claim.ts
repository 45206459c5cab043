import { randomUUID } from 'node:crypto'
import type { Transaction } from 'kysely'
import type { Context } from '../context.ts'
import { ApiError, notFound } from '../lib/errors.ts'
import type { Piece } from '../lib/files/files.ts'
import type { Tables } from '../tables.ts'
import { alreadyFilled, beginSource, ensurePlace, isLocked, newSource, type Sender } from './begin.ts'
import type { Contention, Entry } from './contention.ts'
import { rangeErrors, uploadsErrors } from './errors.ts'
import * as pieceStore from './piece-store.ts'
import { checkBeside, offsetOf, positionOf, type Range, rangeProblem } from './range.ts'
import * as store from './store.ts'
import type { SourcePieceRow, SourceRow } from './tables.ts'

/** The right to write one piece, or the piece that is there already and need only be compared. */
export type Claim =
  | { kind: 'write'; held: pieceStore.Held; handle: string; offset: number | undefined }
  | { kind: 'compare'; handle: string; piece: Piece }

/** A claim is renewed while its bytes come; one that was not has lost its client or its process. */
export const holdMs = 10_000
export const renewMs = holdMs / 3
/**
 * A client that sends a piece again may be quicker than the news that its last connection, or process, is gone. The
 * claim of one that fell silent is free after a last renewal and the time that it holds for: 13.4 s at most.
 */
const waitMs = 20_000
/** Requests of this process wake each other; the database is asked for those of other processes and of silent clients. */
const pollMs = 1_000

type Deps = Pick<Context, 'db' | 'files' | 'now' | 'log'> & { contention: Contention }

export async function claimPiece(
  deps: Deps,
  entry: Entry,
  videoId: string,
  range: Range,
  sender: Sender,
): Promise<Claim> {
  await ensureSource(deps, videoId, range, sender)
  const until = deps.now().getTime() + waitMs
  let isHeld = false
  for (;;) {
    const wait = entry.listen()
    if (isHeld) isHeld = await isStillHeld(deps, videoId, range)
    const claim = isHeld ? undefined : await tryToClaim(deps, videoId, range, sender)
    if (claim) return claim
    isHeld = true
    if (deps.now().getTime() > until) throw inProgress()
    await wait(pollMs)
  }
}

export const inProgress = () => new ApiError(uploadsErrors.inProgress, { headers: { 'retry-after': '10' } })

async function ensureSource(deps: Deps, videoId: string, range: Range, sender: Sender): Promise<void> {
  const found = await store.findSource(deps.db, videoId)
  if (found) await ensurePlace(deps, found)
  // Where another request of the same upload is first, its source serves both.
  else
    await beginSource(deps, videoId, (handle) => newSource(videoId, range.form, handle, sender, deps.now()))
}

/** Reads one row without locking it. */
async function isStillHeld({ db, now }: Deps, videoId: string, range: Range): Promise<boolean> {
  const piece = await pieceStore.findPiece(db, videoId, positionOf(range))
  return piece !== undefined && isHeldAt(piece, now())
}

const isHeldAt = ({ held_until: until }: SourcePieceRow, time: Date) => until !== null && until > time

/** Undefined while another request writes the same piece. */
function tryToClaim(deps: Deps, videoId: string, range: Range, sender: Sender): Promise<Claim | undefined> {
  return deps.contention.exclusively(videoId, () =>
    deps.db.transaction().execute((trx) => claimIn(trx, deps.now(), videoId, range, sender)),
  )
}

async function claimIn(
  trx: Transaction<Tables>,
  time: Date,
  videoId: string,
  range: Range,
  sender: Sender,
): Promise<Claim | undefined> {
  const source = await store.lockSource(trx, videoId)
  if (!source) throw notFound('videoId')
  const position = positionOf(range)
  const own = await pieceStore.findPiece(trx, videoId, position)
  // An own piece that has arrived counts as one beside it: what differs from it must not overlap with it.
  const except = own?.place ? {} : { except: position }
  const beside = await lookBeside(trx, videoId, range, { ...except, now: time })
  const isOwnHeld = own !== undefined && isHeldAt(own, time)
  const hasBegun = isOwnHeld || beside.last !== undefined || isLocked(source, time)
  const isForeign = sender.token !== null && sender.token !== source.created_by
  // An upload belongs to whoever began it; a key has power over all of its environment.
  if (isForeign && hasBegun) {
    if (source.state !== 'receiving') throw alreadyFilled(source.form)
    throw rangeProblem('already-initiated', 'Another upload into this video has begun.')
  }
  if (own?.place && source.form === range.form && isSameRange(range, own))
    return { kind: 'compare', handle: source.handle, piece: { place: own.place, size: own.size } }
  if (source.state !== 'receiving') throw alreadyFilled(source.form)
  if (isOwnHeld) return undefined
  // Nothing has come of what was begun, so it may begin anew in another form.
  if (!hasBegun && (source.form !== range.form || isForeign))
    await store.replaceSource(trx, newSource(videoId, range.form, source.handle, sender, time))
  else checkBeside(range, { form: source.form as Range['form'], total: source.total ?? undefined, ...beside })
  const held = { videoId, position, holder: randomUUID() }
  const size = range.form === 'bytes' ? range.to - range.from + 1 : 0
  const until = new Date(time.getTime() + holdMs)
  await pieceStore.holdPiece(trx, { video_id: videoId, position, size }, held.holder, until)
  return { kind: 'write', held, handle: source.handle, offset: await guessOffset(trx, source, range) }
}

async function guessOffset(trx: Transaction<Tables>, source: SourceRow, range: Range) {
  const isByPart = range.form === 'parts' && range.part > 1
  const { video_id: videoId, received_pieces: pieces, received_bytes: bytes } = source
  const first = isByPart ? await pieceStore.findFirst(trx, videoId) : undefined
  const last = isByPart ? await pieceStore.findLast(trx, videoId) : undefined
  return offsetOf(range, { pieces, bytes, first, last })
}

/** A byte range that begins at a piece but does not end with it is another range, which overlaps. */
const isSameRange = (range: Range, piece: SourcePieceRow) =>
  range.form !== 'bytes' || piece.size === range.to - range.from + 1

/** The last piece of the source, and whether any is in the way of the range. */
export async function lookBeside(
  trx: Transaction<Tables>,
  videoId: string,
  range: Range,
  options: { except?: number; now?: Date },
) {
  const last = await pieceStore.findLast(trx, videoId, options)
  if (range.form !== 'bytes' || !last) return { last, isOverlapping: false }
  const { from, to } = range
  const before =
    last.position <= to ? last : await pieceStore.findLast(trx, videoId, { ...options, upTo: to })
  return { last, isOverlapping: before !== undefined && before.position + before.size > from }
}

/** What to say to other content in the place of a piece that has arrived. */
export function differsFromReceived(range: Range): ApiError {
  const name = 'Content-Range'
  if (range.form === 'parts') return new ApiError(rangeErrors['by-part-part-already-sent'], { name })
  if (range.form === 'bytes') return new ApiError(rangeErrors['by-bytes-range-overlap'], { name })
  return new ApiError(uploadsErrors.alreadyUploaded)
}
