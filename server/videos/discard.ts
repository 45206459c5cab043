import type { Transaction } from 'kysely'
import type { Context } from '../context.ts'
import type { Environment } from '../environments.ts'
import type { Tables } from '../tables.ts'
import { deleteVideo, hourMs } from './delete.ts'
import * as store from './discarded-store.ts'
import type { StoredVideo } from './store.ts'

/** Discards the video, or deletes it if deleted videos cannot be restored. False when there is no such video. */
export function discardOrDelete(
  context: Pick<Context, 'config' | 'db' | 'queue' | 'now'>,
  environment: Environment,
  videoId: string,
): Promise<boolean> {
  const { config, db } = context
  return db
    .transaction()
    .execute((trx) =>
      config.restoreDays === 0
        ? deleteVideo(context, trx, environment, videoId)
        : discard(context, trx, environment, videoId),
    )
}

/**
 * The time is fixed now, so that `deletesAt` stays true if the setting changes. A discarded sandbox video does not exist
 * longer than any other sandbox video.
 */
async function discard(
  { config, queue, now }: Pick<Context, 'config' | 'queue' | 'now'>,
  trx: Transaction<Tables>,
  environment: Environment,
  videoId: string,
): Promise<boolean> {
  const time = now()
  const deletesAt = new Date(time.getTime() + config.restoreDays * 24 * hourMs)
  const maxAgeHours = (environment === 'sandbox' && config.sandbox.hours) || undefined
  const isDiscarded = await store.discardVideo(trx, environment, videoId, {
    now: time,
    deletesAt,
    maxAgeHours,
  })
  if (isDiscarded) await queue.send(trx, 'discarded-changed', { videoId })
  return isDiscarded
}

/** Undefined when there is no such discarded video. */
export function restoreVideo(
  { db, queue, now }: Pick<Context, 'db' | 'queue' | 'now'>,
  environment: Environment,
  videoId: string,
): Promise<StoredVideo | undefined> {
  return db.transaction().execute(async (trx) => {
    const video = await store.restoreVideo(trx, environment, videoId, now())
    if (video) await queue.send(trx, 'discarded-changed', { videoId })
    return video
  })
}

/** Deletes a discarded video before its time is over. False when there is no such discarded video. */
export function deleteDiscarded(
  { db, queue, now }: Pick<Context, 'db' | 'queue' | 'now'>,
  environment: Environment,
  videoId: string,
): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    const deleted = await store.deleteDiscarded(trx, environment, videoId, now())
    if (deleted) await queue.send(trx, 'remove-files', { videoId, handle: deleted.handle })
    return deleted !== undefined
  })
}

/** Limits one run. */
const maxExpired = 1_000

/** Deletes discarded videos that can no longer be restored. */
export async function deleteExpiredVideos({
  db,
  queue,
  now,
}: Pick<Context, 'db' | 'queue' | 'now'>): Promise<void> {
  const time = now()
  for (const videoId of await store.listExpired(db, time, maxExpired))
    await db.transaction().execute(async (trx) => {
      const deleted = await store.deleteExpired(trx, videoId, time)
      if (deleted) await queue.send(trx, 'remove-files', { videoId, handle: deleted.handle })
    })
}
