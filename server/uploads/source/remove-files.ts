import type { Context } from '../../context.ts'
import { removeVideoFiles } from '../../videos/delete.ts'
import { wakeClones } from './wake-clones.ts'

/** Removes the files of a deleted video. */
export async function removeFiles(
  context: Pick<Context, 'db' | 'files' | 'queue'>,
  job: { videoId: string; handle: string | null },
): Promise<void> {
  await removeVideoFiles(context, job)
  await wakeClones(context, job.videoId)
}
