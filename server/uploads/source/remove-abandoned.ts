import type { Context } from '../../context.ts'
import { lockVideo } from '../../videos/store.ts'
import { deleteUpload } from './delete-upload.ts'
import * as store from './store.ts'
import { wakeClones } from './wake-clones.ts'

/** An upload that has received nothing for this long is abandoned. */
export const abandonedAfterMs = 7 * 24 * 3_600_000

/** Removes uploads that were never finished. Their videos accept a new upload. */
export async function removeAbandonedUploads(
  context: Pick<Context, 'db' | 'files' | 'queue' | 'now'>,
): Promise<void> {
  const { db, files, now } = context
  const since = new Date(now().getTime() - abandonedAfterMs)
  for (const { video_id: videoId, handle } of await store.listAbandoned(db, since)) {
    const isDeleted = await db.transaction().execute(async (trx) => {
      await lockVideo(trx, videoId)
      const source = await store.lockSource(trx, videoId)
      if (source?.state !== 'receiving' || source.updated_at >= since) return false
      await deleteUpload(context, trx, source)
      return true
    })
    if (!isDeleted) continue
    await files.abandonUpload(handle)
    await wakeClones(context, videoId)
  }
}
