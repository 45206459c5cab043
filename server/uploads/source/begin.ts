import type { Transaction } from 'kysely'
import type { Context } from '../../context.ts'
import {
  deleteEncoding,
  findEncoding,
  lockEncoding,
  needsSource,
} from '../../encoding/renditions/encoding-store.ts'
import { reportEnd } from '../../encoding/renditions/report-end.ts'
import { ApiError, notFound } from '../../lib/errors.ts'
import { isId } from '../../lib/ids.ts'
import type { Tables } from '../../tables.ts'
import { lockDiscardState } from '../../videos/discarded-store.ts'
import { sourceKey } from '../../videos/files.ts'
import { uploadsErrors } from '../errors.ts'
import type { SourceForm, SourceRow } from '../tables.ts'
import { discardArrived } from './arrival.ts'
import * as store from './store.ts'
import * as chunkStore from './upload-chunk-store.ts'

type Deps = Pick<Context, 'db' | 'files' | 'queue' | 'now' | 'log'>

/** Who started an upload. Token, file name and IP address identify the video of later chunks that do not name it. */
export type UploadOrigin = Pick<SourceRow, 'created_by' | 'token' | 'filename' | 'address'>

export function newSource(
  videoId: string,
  form: SourceForm,
  handle: string,
  { created_by, token, filename, address }: UploadOrigin,
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
    lock_owner: null,
    lock_until: null,
    lock_wanted: false,
    is_paused: false,
    arriving_owner: null,
    arriving_from: null,
    arriving_bytes: null,
    arrival_revision: 0,
    examined_bytes: 0,
    examined_at: null,
    created_at: now,
    updated_at: now,
  }
}

/** Begins an upload in the file store and inserts the source. Undefined when the video has a source already. */
export async function beginSource(
  deps: Deps,
  videoId: string,
  createRow: (handle: string) => SourceRow,
): Promise<SourceRow | undefined> {
  const handle = await deps.files.beginUpload(sourceKey(videoId))
  const row = createRow(handle)
  const isInserted = await store.insertSource(deps.db, row).catch(async (error) => {
    await abandonUnlessUsed(deps, videoId, handle)
    throw isVideoMissing(error) ? notFound('videoId') : error
  })
  if (isInserted) return row
  await deps.files.abandonUpload(handle)
  return undefined
}

/** The foreign key failed: the video was deleted in the meantime. */
export const isVideoMissing = (error: unknown) =>
  error instanceof Error && 'code' in error && error.code === '23503'

/**
 * Removes an upload after its row could not be written. If only the response to the commit was lost, the row exists and
 * the upload must stay. If that cannot be determined, the clean-up of orphaned uploads removes it later.
 */
export async function abandonUnlessUsed(
  { db, files, log }: Pick<Context, 'db' | 'files' | 'log'>,
  videoId: string,
  handle: string,
): Promise<void> {
  try {
    const isUsed = await db.transaction().execute(async (trx) => {
      await store.waitForWriters(trx, videoId)
      return store.isHandleUsed(trx, handle)
    })
    if (!isUsed) await files.abandonUpload(handle)
  } catch (err) {
    log.warn({ err, videoId, handle }, 'cannot tell whether an upload is in use, leaving it to the clean-up')
  }
}

/**
 * Makes sure that the upload of a source exists in the file store. If it was removed for any reason before a chunk
 * arrived, a new one begins. Otherwise every request would fail for as long as the row is kept.
 */
export async function ensureUpload(deps: Deps, source: SourceRow): Promise<SourceRow> {
  const { db, files } = deps
  const { video_id: videoId } = source
  if (source.state !== 'receiving' || source.received_pieces > 0) return source
  if (await files.hasUpload(source.handle)) return source
  const handle = await files.beginUpload(sourceKey(videoId))
  const isReplaced = await store.replaceHandle(db, source, handle).catch(async (error) => {
    await abandonUnlessUsed(deps, videoId, handle)
    throw error
  })
  if (isReplaced) return { ...source, handle }
  await files.abandonUpload(handle)
  const found = await store.findSource(db, videoId)
  if (!found) throw notFound('videoId')
  return found
}

/**
 * Whether the file store has lost the content of a source that is still needed. The file can then be uploaded or fetched
 * again.
 */
export async function isLost(
  { db, files }: Pick<Context, 'db' | 'files'>,
  { video_id: videoId, state, form }: SourceRow,
): Promise<boolean> {
  if (state === 'failed') return form !== 'url' && form !== 'clone'
  return state === 'stored' && !(await files.stat(sourceKey(videoId))) && (await needsSource(db, videoId))
}

/** Whether nothing of the uploaded file could be encoded. Another file can then be uploaded. */
export async function isUnreadable(
  { db }: Pick<Context, 'db'>,
  { video_id: videoId, state, form }: SourceRow,
): Promise<boolean> {
  if (state !== 'stored' || !isUploaded(form)) return false
  return (await findEncoding(db, videoId))?.state === 'failed'
}

/**
 * Replaces an upload that has received nothing, or whose content was lost or is unreadable, by a new one. Undefined when
 * the old one has received something.
 */
export async function replaceUpload(
  deps: Deps,
  videoId: string,
  createRow: (handle: string) => SourceRow,
): Promise<SourceRow | undefined> {
  const { db, files, now } = deps
  const found = await store.findSource(db, videoId)
  const lostHandle = found && (await isLost(deps, found)) ? found.handle : undefined
  const row = createRow(await files.beginUpload(sourceKey(videoId)))
  const replacedHandle = await db
    .transaction()
    .execute(async (trx) => {
      // Locked first wherever the end of an encoding is recorded.
      await lockDiscardState(trx, videoId)
      const source = await store.lockSource(trx, videoId)
      if (!source) throw notFound('videoId')
      if (source.state !== 'receiving') {
        const isReplaceable =
          (await mayReplace(trx, row, source)) &&
          (source.handle === lostHandle || (await deleteUnreadable(deps, trx, source)))
        if (!isReplaceable) throw sourceExists(source.form)
      } else if (isLocked(source, now()) || (await chunkStore.findLast(trx, videoId, { now: now() })))
        return undefined
      await discardArrived(deps.queue, trx, source)
      await store.replaceSource(trx, row)
      return source.handle
    })
    .catch(async (error) => {
      await abandonUnlessUsed(deps, videoId, row.handle)
      throw error
    })
  await files.abandonUpload(replacedHandle ?? row.handle)
  return replacedHandle === undefined ? undefined : row
}

/** The file may have arrived after it was checked that the token may fill the video. */
async function mayReplace(trx: Transaction<Tables>, row: SourceRow, source: SourceRow): Promise<boolean> {
  return !isForeign(row, source) || (await store.isVideoOfToken(trx, row.video_id, row.created_by!))
}

/**
 * Deletes the encoding of an unreadable file, and queues the removal of the file. False when the file is not unreadable.
 * Whoever may fill the video may also replace such a file.
 */
async function deleteUnreadable(
  { queue, now }: Deps,
  trx: Transaction<Tables>,
  source: SourceRow,
): Promise<boolean> {
  const { video_id: videoId } = source
  await lockEncoding(trx, videoId)
  if (!(await isUnreadable({ db: trx }, source))) return false
  // The job that reports the failure may not have run yet.
  await reportEnd(trx, videoId, now())
  await deleteEncoding(trx, videoId)
  await queue.send(trx, 'remove-source', { videoId })
  return true
}

/** A token can only continue its own uploads. A key can continue every upload of its environment. */
export const isForeign = ({ created_by }: Pick<SourceRow, 'created_by'>, source: SourceRow) =>
  created_by !== null && isId('to', created_by) && created_by !== source.created_by

/** Whether a tus request is writing. */
export const isLocked = ({ lock_until: until }: Pick<SourceRow, 'lock_until'>, now: Date) =>
  until !== null && until > now

/** Whether clients send the content. */
const isUploaded = (form: SourceForm) => form === 'whole' || form === 'bytes' || form === 'parts'

/** The video has a source, so it accepts no upload. */
export function sourceExists(form: SourceForm): ApiError {
  if (form === 'url') return new ApiError(uploadsErrors.alreadyDownloaded)
  return new ApiError(form === 'clone' ? uploadsErrors.alreadyCopied : uploadsErrors.alreadyUploaded)
}
