import type { Context } from '../context.ts'
import { hasVideo } from './store.ts'

/**
 * Removes all files of a video that was deleted. Whoever stores files of a video calls this afterwards, and a job that
 * is tried again calls it first: the job that removes the files may have run before they were stored.
 */
export async function removeIfDeleted(
  { db, files }: Pick<Context, 'db' | 'files'>,
  videoId: string,
): Promise<boolean> {
  if (await hasVideo(db, videoId)) return false
  await files.remove(`videos/${videoId}`)
  return true
}
