import type { Context } from '../contracts/context.ts'
import { sourceKey } from './claim.ts'
import * as store from './store.ts'

/** Makes one file of the pieces of a source that is all there. Runs again and changes nothing. */
export async function storeSource(
  { db, files, now }: Pick<Context, 'db' | 'files' | 'now'>,
  { videoId }: { videoId: string },
): Promise<void> {
  const source = await store.findSource(db, videoId)
  if (source?.state !== 'received') return
  const pieces = (await store.listPieces(db, videoId)).filter(({ size }) => size > 0)
  await files.finishUpload(
    source.handle,
    sourceKey(videoId),
    pieces.map(({ place, size, sha256 }) => ({ place: place!, size, sha256: sha256! })),
  )
  await store.updateSource(db, videoId, { state: 'stored', updated_at: now() })
}

/** What a deleted video leaves behind. */
export async function removeFiles(
  { files }: Pick<Context, 'files'>,
  { videoId, handle }: { videoId: string; handle: string | null },
): Promise<void> {
  if (handle !== null) await files.abandonUpload(handle)
  await files.remove(`videos/${videoId}`)
}

/** An upload that nothing is added to for so long is given up. */
export const forsakenAfterMs = 7 * 24 * 3_600_000

/** Uploads that were never finished. Their videos are empty again. */
export async function removeForsakenUploads({
  db,
  files,
  now,
}: Pick<Context, 'db' | 'files' | 'now'>): Promise<void> {
  const since = new Date(now().getTime() - forsakenAfterMs)
  for (const { video_id: videoId, handle } of await store.listForsaken(db, since)) {
    const isGone = await db.transaction().execute(async (trx) => {
      const source = await store.lockSource(trx, videoId)
      if (source?.state !== 'receiving' || source.updated_at >= since) return false
      await store.deleteSource(trx, videoId)
      return true
    })
    if (isGone) await files.abandonUpload(handle)
  }
  // What a crash left between the file store and the database belongs to no source.
  for await (const handle of files.staleUploads(since)) {
    if (!(await store.isHandleKnown(db, handle))) await files.abandonUpload(handle)
  }
}
