import type { Context } from '../context.ts'
import { listWork } from './plan.ts'
import * as store from './store.ts'

/** Starts again what failed. False when nothing did. */
export function retryEncoding(
  { db, queue }: Pick<Context, 'db' | 'queue'>,
  videoId: string,
): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    const encoding = await store.lockEncoding(trx, videoId)
    if (!encoding) return false
    if (!encoding.plan) {
      await store.deleteEncoding(trx, videoId)
      await queue.send(trx, 'plan-encoding', { videoId })
      return true
    }
    const failed = (await store.listRenditions(trx, videoId)).filter(({ state }) => state === 'failed')
    const hasSoundFailed = encoding.sound_failure !== null
    if (failed.length === 0 && !hasSoundFailed) return false
    for (const rendition of failed)
      await store.updateRendition(trx, rendition, { state: 'waiting', failure: null })
    const streams = failed.filter(({ type }) => type === 'hls').map(({ quality }) => quality)
    if (hasSoundFailed) await store.deleteSegments(trx, videoId, 'sound')
    const work = listWork(encoding.plan, (rendition) =>
      rendition === 'sound' ? hasSoundFailed : streams.includes(rendition),
    )
    await store.insertChunks(trx, encoding, work)
    await store.announceChunks(trx)
    await store.updateEncoding(trx, videoId, {
      ...(work.length > 0 && { state: 'encoding', finished_at: null }),
      failure: null,
      sound_failure: null,
    })
    // An MP4 that failed though all that it is made of is there.
    if (work.length === 0) await queue.send(trx, 'finish-encoding', { videoId })
    return true
  })
}
