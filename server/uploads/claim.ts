import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '../contracts/context.ts'
import type { SourceForm, SourcePieceRow, SourceRow } from '../contracts/tables.ts'
import { ApiError, notFound } from '../lib/errors.ts'
import { type Piece, sizeOf } from '../lib/files/files.ts'
import { checkBeside, offsetOf, positionOf, type Range, type ReceivedPiece } from './range.ts'
import * as store from './store.ts'

/** Who sends: kept so that later parts that do not name their video find it. */
export type Sender = { token: string | null; filename: string | null; address: string | null }

/** The right to write one piece, or the piece that is there already and need only be compared. */
export type Claim =
  | { kind: 'write'; holder: string; handle: string; offset: number | undefined }
  | { kind: 'compare'; handle: string; piece: Piece; offset: number }

/** A claim is renewed while its bytes come; one that was not has lost its client or its process. */
export const holdMs = 10_000
export const renewMs = holdMs / 3
/**
 * A client that sends a piece again may be quicker than the news that its last connection, or process, is gone. The
 * claim of one that fell silent is free after a last renewal and the time that it holds for: 13.4 s at most.
 */
const waitMs = 20_000

export const sourceKey = (videoId: string) => `videos/${videoId}/source`

type Deps = Pick<Context, 'db' | 'files' | 'now'>

export function newSource(
  videoId: string,
  form: SourceForm,
  handle: string,
  sender: Sender,
  now: Date,
): SourceRow {
  return {
    video_id: videoId,
    form,
    total: null,
    size: null,
    handle,
    state: 'receiving',
    failure: null,
    ...sender,
    validator: null,
    tus_metadata: null,
    created_at: now,
    updated_at: now,
  }
}

export async function claimPiece(deps: Deps, videoId: string, range: Range, sender: Sender): Promise<Claim> {
  await ensureSource(deps, videoId, range, sender)
  const until = deps.now().getTime() + waitMs
  for (;;) {
    const claim = await tryToClaim(deps, videoId, range)
    if (claim) return claim
    if (deps.now().getTime() > until) throw inProgress()
    await delay(200)
  }
}

export const inProgress = () => new ApiError('upload-in-progress', { headers: { 'retry-after': '10' } })

async function ensureSource(deps: Deps, videoId: string, range: Range, sender: Sender): Promise<void> {
  if (await store.findSource(deps.db, videoId)) return
  const handle = await deps.files.beginUpload(sourceKey(videoId))
  const row = newSource(videoId, range.form, handle, sender, deps.now())
  const isFirst = await store.insertSource(deps.db, row).catch(async (error) => {
    await deps.files.abandonUpload(handle)
    // The video was deleted meanwhile.
    if (error instanceof Error && 'code' in error && error.code === '23503') throw notFound('videoId')
    throw error
  })
  // Another request of the same upload was first.
  if (!isFirst) await deps.files.abandonUpload(handle)
}

/** Undefined while another request writes the same piece. */
function tryToClaim({ db, now }: Deps, videoId: string, range: Range): Promise<Claim | undefined> {
  return db.transaction().execute(async (trx) => {
    const source = await store.lockSource(trx, videoId)
    if (!source) throw notFound('videoId')
    const pieces = await store.listPieces(trx, videoId)
    const position = positionOf(range)
    const own = pieces.find((piece) => piece.position === position)
    if (own?.place && source.form === range.form && isSameRange(range, own)) {
      const offset = range.form === 'bytes' ? position : sizeOf(pieces.slice(0, pieces.indexOf(own)))
      return { kind: 'compare', handle: source.handle, piece: { place: own.place, size: own.size }, offset }
    }
    if (source.state !== 'receiving') throw alreadyFilled(source.form)
    const time = now()
    const isHeld = (piece: SourcePieceRow) => piece.held_until !== null && piece.held_until > time
    if (own && isHeld(own)) return undefined
    const others = pieces.filter((piece) => piece !== own && (piece.place !== null || isHeld(piece)))
    const beside: ReceivedPiece[] = own?.place ? [...others, own] : others
    if (beside.length === 0 && source.form !== range.form) {
      // Nothing has come of what was begun, so it may begin anew in another form.
      await store.restartSource(trx, videoId, range.form)
    } else {
      checkBeside(range, {
        form: source.form as Range['form'],
        total: source.total ?? undefined,
        pieces: beside,
      })
    }
    const holder = randomUUID()
    const size = range.form === 'bytes' ? range.to - range.from + 1 : 0
    await store.holdPiece(
      trx,
      { video_id: videoId, position, size },
      holder,
      new Date(time.getTime() + holdMs),
    )
    return {
      kind: 'write',
      holder,
      handle: source.handle,
      offset: offsetOf(
        range,
        others.filter((p) => p.place),
      ),
    }
  })
}

/** A byte range that begins at a piece but does not end with it is another range, which overlaps. */
const isSameRange = (range: Range, piece: SourcePieceRow) =>
  range.form !== 'bytes' || piece.size === range.to - range.from + 1

export function alreadyFilled(form: SourceForm): ApiError {
  if (form === 'url') return new ApiError('video-source-already-downloaded')
  return new ApiError(form === 'clone' ? 'video-source-already-copied' : 'video-source-already-uploaded')
}

/** What to say to other content in the place of a piece that has arrived. */
export function differsFromReceived(range: Range): ApiError {
  const name = 'Content-Range'
  if (range.form === 'parts') return new ApiError('video-content-range-by-part-part-already-sent', { name })
  if (range.form === 'bytes') return new ApiError('video-content-range-by-bytes-range-overlap', { name })
  return new ApiError('video-source-already-uploaded')
}
