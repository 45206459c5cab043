import type { Context } from '../../../context.ts'
import { exclusively } from '../../../lib/db.ts'
import { inParallel } from '../../../lib/parallel.ts'
import { broadcastFolder, liveSegmentKey } from '../files.ts'
import * as store from './store.ts'

type Deps = Pick<Context, 'config' | 'db' | 'locks' | 'files'>

/** A player may still request what was in its playlist when it paused. */
const graceSeconds = 300
/** How long ended broadcasts are in the history, and failed recordings can be tried again. */
const historyDays = 30

const batchSize = 500
const maxBroadcasts = 1_000
const maxParallelRemovals = 8

/**
 * Deletes live segments that nobody needs any more, and broadcasts that are too old. Rows go before their files, as
 * everywhere: a backup that begins in between must not have rows without files. The sweep removes files that remain.
 */
export async function expireLive(deps: Deps, closing: AbortSignal): Promise<void> {
  const { config, db, locks } = deps
  const seconds = config.liveRewindSeconds + graceSeconds
  await exclusively(locks, 'expire live', async () => {
    for (const id of await store.listRunning(db)) await deleteSegments(deps, id, 1000 * seconds, closing)
    for (const over of await store.listOver(db, { seconds, limit: maxBroadcasts })) {
      closing.throwIfAborted()
      await expireOver(deps, over, closing)
    }
    for (const id of await store.listOld(db, historyDays, maxBroadcasts)) {
      closing.throwIfAborted()
      await deleteBroadcast(deps, id)
    }
  })
}

async function expireOver(
  deps: Deps,
  { id, isRecorded, isStreamDeleted }: { id: string; isRecorded: boolean; isStreamDeleted: boolean },
  closing: AbortSignal,
): Promise<void> {
  if (!isRecorded) return deleteSegments(deps, id, nothingIsWatched, closing)
  if (isStreamDeleted) return deleteBroadcast(deps, id)
  await store.deleteMedia(deps.db, id)
  await deps.files.remove(broadcastFolder(id))
}

/** A window that ends after the last segment. */
const nothingIsWatched = -1

async function deleteBroadcast({ db, files }: Deps, id: string): Promise<void> {
  await store.deleteBroadcast(db, id)
  await files.remove(broadcastFolder(id))
}

async function deleteSegments(
  { db, files }: Deps,
  broadcastId: string,
  windowMs: number,
  closing: AbortSignal,
): Promise<void> {
  for (;;) {
    closing.throwIfAborted()
    const keys = await store.listOutOfWindow(db, broadcastId, { windowMs, limit: batchSize })
    await store.deleteSegments(db, keys)
    await inParallel(keys, maxParallelRemovals, (key) => files.remove(liveSegmentKey(broadcastId, key)))
    if (keys.length < batchSize) return
  }
}
