import type { Context } from '../context.ts'
import { audioRendition } from '../renditions/playable.ts'
import * as renditions from '../renditions/store.ts'
import { lockDiscardState } from '../videos/discarded-store.ts'
import * as chunks from './chunk-store.ts'
import * as encodings from './encoding-store.ts'
import { listWork } from './plan.ts'

/** Encodes failed qualities again. Returns false if nothing has failed, or if the video was just deleted. */
export function retryEncoding(
  { db, queue }: Pick<Context, 'db' | 'queue'>,
  videoId: string,
): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    const video = await lockDiscardState(trx, videoId)
    if (!video || video.isDiscarded) return false
    const encoding = await encodings.lockEncoding(trx, videoId)
    if (!encoding) return false
    if (!encoding.plan) {
      await encodings.deleteEncoding(trx, videoId)
      await queue.send(trx, 'plan-encoding', { videoId })
      return true
    }
    const failed = (await renditions.listRenditions(trx, videoId)).filter(({ state }) => state === 'failed')
    const hasAudioFailed = encoding.sound_failure !== null
    if (failed.length === 0 && !hasAudioFailed) return false
    for (const rendition of failed)
      await renditions.updateRendition(trx, rendition, { state: 'waiting', failure: null })
    const qualities = failed.filter(({ type }) => type === 'hls').map(({ quality }) => quality)
    if (hasAudioFailed) await renditions.deleteSegments(trx, videoId, audioRendition)
    const work = listWork(encoding.plan, (rendition) =>
      rendition === audioRendition ? hasAudioFailed : qualities.includes(rendition),
    )
    await chunks.insertChunks(trx, encoding, work)
    await chunks.announceChunks(trx)
    await encodings.updateEncoding(trx, videoId, {
      ...(work.length > 0 && { state: 'encoding', finished_at: null }),
      failure: null,
      sound_failure: null,
    })
    // Only the MP4 failed: all of its segments exist.
    if (work.length === 0) await queue.send(trx, 'finish-encoding', { videoId })
    return true
  })
}
