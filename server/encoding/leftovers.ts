import type { Context } from '../context.ts'
import { knownKeyOf } from '../renditions/files.ts'
import * as store from './store.ts'

/**
 * Files of a video that nobody knows of: of workers that were killed between storing and noting, of qualities that
 * failed, of an MP4 that was replaced. Those of a worker that is only late are removed by itself, too.
 */
export async function removeStrays(
  { db, files }: Pick<Context, 'db' | 'files'>,
  videoId: string,
): Promise<void> {
  const found = new Set<string>()
  for (const folder of ['hls', 'mp4'])
    for await (const key of files.list(`videos/${videoId}/${folder}`)) found.add(knownKeyOf(key))
  // Asked afterwards: what was there before and is not known now never will be.
  const known = await store.listKeys(db, videoId)
  if (!known) return
  for (const key of found) if (!known.has(key)) await files.remove(key)
}
