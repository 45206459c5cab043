import type { Context } from '../../context.ts'
import { reportSourceFailure } from '../../encoding/renditions/report-end.ts'
import { lockDiscardState } from '../../videos/discarded-store.ts'
import { discardArrived } from './arrival.ts'
import * as store from './store.ts'

/**
 * Records that the content of a source cannot be fetched or stored. False when the source is in another state by now, or
 * when its video is discarded: a file is then fetched again, and may fail again, after the video is restored.
 */
export function failSource(
  { db, queue, now }: Pick<Context, 'db' | 'queue' | 'now'>,
  videoId: string,
  state: 'receiving' | 'received',
  failure: string,
): Promise<boolean> {
  const time = now()
  return db.transaction().execute(async (trx) => {
    const video = await lockDiscardState(trx, videoId)
    if (video?.isDiscarded && state === 'receiving') {
      await store.pauseSource(trx, videoId)
      return false
    }
    const source = await store.lockSource(trx, videoId)
    if (source?.state === state) await discardArrived(queue, trx, source)
    const hasFailed = await store.failSource(trx, videoId, state, { failure, now: time })
    if (hasFailed && !video?.isDiscarded) await reportSourceFailure(trx, videoId, failure, time)
    return hasFailed
  })
}
