import type { Context } from '../context.ts'
import { deleteVideo, listOldVideos } from './store.ts'

const hourMs = 3_600_000

/** The sandbox is for trying out: what is in it goes after a while. */
export async function deleteOldSandboxVideos({
  config,
  db,
  queue,
  now,
}: Pick<Context, 'config' | 'db' | 'queue' | 'now'>): Promise<void> {
  if (config.sandbox.hours === 0) return
  const before = new Date(now().getTime() - config.sandbox.hours * hourMs)
  for (const videoId of await listOldVideos(db, 'sandbox', before)) {
    await db.transaction().execute(async (trx) => {
      const deleted = await deleteVideo(trx, 'sandbox', videoId)
      if (deleted) await queue.send(trx, 'remove-files', { videoId, handle: deleted.handle })
    })
  }
}
