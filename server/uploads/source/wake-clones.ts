import type { Context } from '../../context.ts'
import * as store from './store.ts'

/** Runs the jobs of videos that wait to be copied from this one: it is stored, or never will be. */
export async function wakeClones(
  { db, queue }: Pick<Context, 'db' | 'queue'>,
  videoId: string,
): Promise<void> {
  for (const clone of await store.listWaitingClones(db, videoId))
    await queue.send(db, 'fetch-source', { videoId: clone })
}
