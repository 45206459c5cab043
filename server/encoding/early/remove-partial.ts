import type { Context } from '../../context.ts'
import { removeIfDeleted } from '../../videos/delete.ts'
import { hlsFolder, sourceCopyFolder } from '../../videos/files.ts'
import { clearVideoSize } from '../../videos/store.ts'
import * as encodings from '../renditions/encoding-store.ts'

/**
 * Removes the files of a partial encoding that was dropped. If another encoding has begun, the job at its end removes them.
 */
export async function removePartial(
  deps: Pick<Context, 'db' | 'files'>,
  { videoId }: { videoId: string },
): Promise<void> {
  const { db, files } = deps
  if (await removeIfDeleted(deps, videoId)) return
  const keys: string[] = []
  for (const folder of [hlsFolder(videoId), sourceCopyFolder(videoId)])
    for await (const key of files.list(folder)) keys.push(key)
  // Read after the files are listed: those of an encoding that begins now are not among them.
  if (await encodings.findEncoding(db, videoId)) return
  for (const key of keys) await files.remove(key)
  await clearVideoSize(db, videoId)
}
