import type { Context } from '../context.ts'
import { removeIfDeleted } from '../videos/delete.ts'
import { sourceKey } from './begin.ts'
import { wakeClones } from './fetch-source.ts'
import { listPieces } from './piece-store.ts'
import * as store from './store.ts'

/** Makes one file of the pieces of a source that is all there. Runs again and changes nothing. */
export async function storeSource(
  context: Pick<Context, 'db' | 'files' | 'queue' | 'now'>,
  { videoId }: { videoId: string },
): Promise<void> {
  const { db, files, queue, now } = context
  const source = await store.findSource(db, videoId)
  if (source?.state === 'stored') await wakeClones(context, videoId)
  if (!source) await removeIfDeleted(context, videoId)
  if (source?.state !== 'received') return
  const pieces = (await listPieces(db, videoId)).filter(({ size }) => size > 0)
  await files.finishUpload(
    source.handle,
    sourceKey(videoId),
    pieces.map(({ place, size }) => ({ place: place!, size })),
  )
  const isNoted = await db.transaction().execute(async (trx) => {
    if (!(await store.lockSource(trx, videoId))) return false
    await store.updateSource(trx, videoId, { state: 'stored', updated_at: now() })
    await queue.send(trx, 'plan-encoding', { videoId })
    return true
  })
  if (!isNoted) await removeIfDeleted(context, videoId)
  await wakeClones(context, videoId)
}

/** What a deleted video leaves behind. */
export async function removeFiles(
  context: Pick<Context, 'db' | 'files' | 'queue'>,
  { videoId, handle }: { videoId: string; handle: string | null },
): Promise<void> {
  const { files } = context
  if (handle !== null) await files.abandonUpload(handle)
  await files.remove(`videos/${videoId}`)
  await wakeClones(context, videoId)
}

/** An upload that nothing is added to for so long is given up. */
export const forsakenAfterMs = 7 * 24 * 3_600_000

/** Uploads that were never finished. Their videos are empty again. */
export async function removeForsakenUploads(
  context: Pick<Context, 'db' | 'files' | 'queue' | 'now'>,
): Promise<void> {
  const { db, files, now } = context
  const since = new Date(now().getTime() - forsakenAfterMs)
  for (const { video_id: videoId, handle } of await store.listForsaken(db, since)) {
    const isGone = await db.transaction().execute(async (trx) => {
      const source = await store.lockSource(trx, videoId)
      if (source?.state !== 'receiving' || source.updated_at >= since) return false
      await store.deleteSource(trx, videoId)
      return true
    })
    if (!isGone) continue
    await files.abandonUpload(handle)
    await wakeClones(context, videoId)
  }
}
