import type { Transaction } from 'kysely'
import type { Context } from '../context.ts'
import type { Environment } from '../environments.ts'
import type { Tables } from '../tables.ts'
import { videoFolder } from './files.ts'
import * as store from './store.ts'

/** Deletes the video and queues the job that removes its files. False when there is no such video. */
export async function deleteVideo(
  { queue }: Pick<Context, 'queue'>,
  trx: Transaction<Tables>,
  environment: Environment,
  videoId: string,
): Promise<boolean> {
  const deleted = await store.deleteVideo(trx, environment, videoId)
  if (!deleted) return false
  await queue.send(trx, 'remove-files', { videoId, handle: deleted.handle })
  return true
}

/** Removes the files of a deleted video and its unfinished upload, if it has one. */
export async function removeVideoFiles(
  { files }: Pick<Context, 'files'>,
  { videoId, handle }: { videoId: string; handle: string | null },
): Promise<void> {
  if (handle !== null) await files.abandonUpload(handle)
  await files.remove(videoFolder(videoId))
}

/**
 * Removes all files of a video that was deleted. Everything that stores files of a video calls this afterwards, and a
 * retried job calls it first: the job that removes the files may have run before they were stored.
 */
export async function removeIfDeleted(
  { db, files }: Pick<Context, 'db' | 'files'>,
  videoId: string,
): Promise<boolean> {
  if (await store.hasVideo(db, videoId)) return false
  await files.remove(videoFolder(videoId))
  return true
}

/** Removes stored files that no row will refer to, or all files if the video was deleted. */
export async function discardFiles(
  deps: Pick<Context, 'db' | 'files'>,
  videoId: string,
  keys: string[],
): Promise<void> {
  if (keys.length === 0 || (await removeIfDeleted(deps, videoId))) return
  for (const key of keys) await deps.files.remove(key)
}

export const hourMs = 3_600_000

/** The sandbox is for trials: its videos are deleted after some hours. */
export async function deleteOldSandboxVideos(
  context: Pick<Context, 'config' | 'db' | 'queue' | 'now'>,
): Promise<void> {
  const { config, db, now } = context
  if (config.sandbox.hours === 0) return
  const before = new Date(now().getTime() - config.sandbox.hours * hourMs)
  for (const videoId of await store.listOldVideos(db, 'sandbox', before))
    await db.transaction().execute((trx) => deleteVideo(context, trx, 'sandbox', videoId))
}
