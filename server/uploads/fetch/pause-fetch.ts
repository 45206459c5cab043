import type { Context } from '../../context.ts'
import { isDiscarded, lockDiscardState } from '../../videos/discarded-store.ts'
import * as store from '../source/store.ts'

/** The video was discarded while its source was being fetched. */
export class FetchPaused extends Error {}

/**
 * Throws `FetchPaused` to end the job of a discarded video. The source is marked in the same transaction, so that the
 * restored video gets exactly one new job.
 */
export async function pauseIfDiscarded({ db }: Pick<Context, 'db'>, videoId: string): Promise<void> {
  // Most are not: a lock costs a write to the disk. Whoever discards the video later is noticed with the next chunk.
  if (!(await isDiscarded(db, videoId))) return
  const isPaused = await db.transaction().execute(async (trx) => {
    const video = await lockDiscardState(trx, videoId)
    if (!video?.isDiscarded) return false
    await store.pauseSource(trx, videoId)
    return true
  })
  if (isPaused) throw new FetchPaused('the video was discarded')
}

/** Fetches the source of a restored video if its job has ended. */
export async function resumeFetch(
  { db, queue }: Pick<Context, 'db' | 'queue'>,
  { videoId }: { videoId: string },
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const video = await lockDiscardState(trx, videoId)
    if (!video || video.isDiscarded) return
    if (await store.resumeSource(trx, videoId)) await queue.send(trx, 'fetch-source', { videoId })
  })
}
