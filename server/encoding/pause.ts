import type { Context } from '../context.ts'
import { lockDiscardState } from '../videos/discarded-store.ts'
import * as chunks from './chunks/encode-chunk-store.ts'
import * as encodings from './renditions/encoding-store.ts'

/**
 * Pauses the encoding of a discarded video, and resumes that of a restored one. An encoding that ended in the meantime is
 * reported now.
 */
export async function pauseOrResume(
  { db, queue }: Pick<Context, 'db' | 'queue'>,
  { videoId }: { videoId: string },
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const video = await lockDiscardState(trx, videoId)
    // Waits for a transaction that splits a chunk: its new chunks are paused as well.
    const encoding = video && (await encodings.lockEncoding(trx, videoId))
    if (!encoding) return
    await chunks.setPaused(trx, videoId, video.isDiscarded)
    if (video.isDiscarded) return
    await chunks.announceChunks(trx)
    const mustReport = encoding.state !== 'encoding' && !encoding.is_end_reported
    if (mustReport) await queue.send(trx, 'finish-encoding', { videoId })
  })
}
