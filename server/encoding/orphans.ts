import type { Context } from '../context.ts'
import { hlsFolder, knownKeyOf, mp4Folder } from '../renditions/files.ts'
import { listKeys } from '../renditions/store.ts'

/**
 * Removes media files of a video that no row refers to. They remain when a worker is killed between storing and recording
 * a file, when a quality fails, and when an MP4 is replaced. A worker that is only slow removes its own files.
 */
export async function removeOrphans(
  { db, files }: Pick<Context, 'db' | 'files'>,
  videoId: string,
): Promise<void> {
  const found = new Set<string>()
  for (const folder of [hlsFolder(videoId), mp4Folder(videoId)])
    for await (const key of files.list(folder)) found.add(knownKeyOf(key))
  // The rows are read after the files are listed: a listed file without a row will never get one.
  const known = await listKeys(db, videoId)
  if (!known) return
  for (const key of found) if (!known.has(key)) await files.remove(key)
}
