import type { Context } from '../context.ts'
import { ApiError, notFound } from '../lib/errors.ts'
import { uploadsErrors } from './errors.ts'
import * as pieceStore from './piece-store.ts'
import * as store from './store.ts'
import type { SourceForm, SourceRow } from './tables.ts'

type Deps = Pick<Context, 'db' | 'files' | 'now' | 'log'>

/** Who begins an upload. Token, name and address let later parts that do not name their video find it. */
export type Sender = Pick<SourceRow, 'created_by' | 'token' | 'filename' | 'address'>

export const sourceKey = (videoId: string) => `videos/${videoId}/source`

export function newSource(
  videoId: string,
  form: SourceForm,
  handle: string,
  { created_by, token, filename, address }: Sender,
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
    token,
    filename,
    address,
    created_by,
    validator: null,
    tus_metadata: null,
    received_pieces: 0,
    received_bytes: 0,
    lock_holder: null,
    lock_until: null,
    lock_wanted: false,
    created_at: now,
    updated_at: now,
  }
}

/** Inserts the source of a video with a place in the file store. Undefined when the video has one already. */
export async function beginSource(
  deps: Deps,
  videoId: string,
  rowOf: (handle: string) => SourceRow,
): Promise<SourceRow | undefined> {
  const handle = await deps.files.beginUpload(sourceKey(videoId))
  const row = rowOf(handle)
  const isInserted = await store.insertSource(deps.db, row).catch(async (error) => {
    await abandonUnlessKnown(deps, videoId, handle)
    throw isVideoMissing(error) ? notFound('videoId') : error
  })
  if (isInserted) return row
  await deps.files.abandonUpload(handle)
  return undefined
}

/** The video was deleted while its source was inserted. */
const isVideoMissing = (error: unknown) => error instanceof Error && 'code' in error && error.code === '23503'

/**
 * Removes an upload after its row could not be written. A commit whose answer was lost may have counted, and then the
 * upload must stay. Where that cannot be found out, the clean-up of stale uploads decides.
 */
export async function abandonUnlessKnown(
  { db, files, log }: Pick<Context, 'db' | 'files' | 'log'>,
  videoId: string,
  handle: string,
): Promise<void> {
  try {
    const isKnown = await db.transaction().execute(async (trx) => {
      await store.waitForWriters(trx, videoId)
      return store.isHandleKnown(trx, handle)
    })
    if (!isKnown) await files.abandonUpload(handle)
  } catch (err) {
    log.warn({ err, videoId, handle }, 'an upload is left to the clean-up')
  }
}

/**
 * The source with a place in the file store that exists. Whatever removed the place of an upload that has received
 * nothing yet, the upload begins anew instead of failing for as long as its row is kept.
 */
export async function ensurePlace(deps: Deps, source: SourceRow): Promise<SourceRow> {
  const { db, files } = deps
  const { video_id: videoId } = source
  if (source.state !== 'receiving' || source.received_pieces > 0) return source
  if (await files.hasUpload(source.handle)) return source
  const handle = await files.beginUpload(sourceKey(videoId))
  const isReplaced = await store.replaceHandle(db, source, handle).catch(async (error) => {
    await abandonUnlessKnown(deps, videoId, handle)
    throw error
  })
  if (isReplaced) return { ...source, handle }
  await files.abandonUpload(handle)
  const found = await store.findSource(db, videoId)
  if (!found) throw notFound('videoId')
  return found
}

/** Puts another upload in the place of one that has received nothing. Undefined when that one has begun. */
export async function replaceUnstarted(
  deps: Deps,
  videoId: string,
  rowOf: (handle: string) => SourceRow,
): Promise<SourceRow | undefined> {
  const { db, files, now } = deps
  const row = rowOf(await files.beginUpload(sourceKey(videoId)))
  const replaced = await db
    .transaction()
    .execute(async (trx) => {
      const source = await store.lockSource(trx, videoId)
      if (!source) throw notFound('videoId')
      if (source.state !== 'receiving') throw alreadyFilled(source.form)
      if (isLocked(source, now()) || (await pieceStore.findLast(trx, videoId, { now: now() })))
        return undefined
      await store.replaceSource(trx, row)
      return source.handle
    })
    .catch(async (error) => {
      await abandonUnlessKnown(deps, videoId, row.handle)
      throw error
    })
  await files.abandonUpload(replaced ?? row.handle)
  return replaced === undefined ? undefined : row
}

/** Whether a tus request is writing. */
export const isLocked = ({ lock_until: until }: Pick<SourceRow, 'lock_until'>, now: Date) =>
  until !== null && until > now

export function alreadyFilled(form: SourceForm): ApiError {
  if (form === 'url') return new ApiError(uploadsErrors.alreadyDownloaded)
  return new ApiError(form === 'clone' ? uploadsErrors.alreadyCopied : uploadsErrors.alreadyUploaded)
}
