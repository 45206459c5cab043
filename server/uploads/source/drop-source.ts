import type { Context } from '../../context.ts'
import { lockEncoding } from '../../encoding/renditions/encoding-store.ts'
import { sourceKey } from '../../videos/files.ts'
import * as dropStore from './drop-source-store.ts'
import * as store from './store.ts'

const dayMs = 86_400_000
const batchSize = 100

type Deps = Pick<Context, 'config' | 'db' | 'queue' | 'now'>

/** Clocks of workers differ, and transactions take time. */
const recentMs = 3_600_000

/** Drops the sources of videos that were encoded long enough ago, if the operator wants it. Reads all encodings. */
export const dropOldSources = (deps: Deps, closing: AbortSignal): Promise<void> => drop(deps, closing)

/** The same for those that became due within the last hour. Others were needed at that time. */
export const dropDueSources = (deps: Deps, closing: AbortSignal): Promise<void> =>
  drop(deps, closing, recentMs)

async function drop(deps: Deps, closing: AbortSignal, withinMs?: number): Promise<void> {
  const { config, db, now } = deps
  if (config.sourceDays === undefined) return
  const encodedBefore = new Date(now().getTime() - config.sourceDays * dayMs)
  const since =
    withinMs === undefined ? '-infinity' : new Date(encodedBefore.getTime() - withinMs).toISOString()
  let after: dropStore.Candidate | undefined = { finishedAt: since, videoId: '' }
  while (after) {
    const found = await dropStore.listCandidates(db, { after, encodedBefore, limit: batchSize })
    for (const { videoId } of found) {
      if (closing.aborted) return
      await dropSource(deps, videoId, encodedBefore)
    }
    after = found.length < batchSize ? undefined : found.at(-1)
  }
}

/** Marks the source and queues the job that removes its file. Does nothing if the source is needed again. */
async function dropSource({ db, queue, now }: Deps, videoId: string, encodedBefore: Date): Promise<void> {
  await db.transaction().execute(async (trx) => {
    // Both rows are locked by whatever needs the source again: a retry, or another upload.
    await store.lockSource(trx, videoId)
    await lockEncoding(trx, videoId)
    if (!(await dropStore.isDroppable(trx, videoId, encodedBefore))) return
    await store.updateSource(trx, videoId, { state: 'dropped', updated_at: now() })
    await queue.send(trx, 'remove-source', { videoId })
  })
}

/** Removes the file of a dropped source, or an unreadable file that another upload replaces. */
export async function removeSource(
  { db, files }: Pick<Context, 'db' | 'files'>,
  { videoId }: { videoId: string },
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    // The file of the next upload gets the same key, but only after its state has changed.
    const source = await store.lockSource(trx, videoId)
    if (source?.state === 'dropped' || source?.state === 'receiving') await files.remove(sourceKey(videoId))
  })
}
