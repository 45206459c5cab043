import { setTimeout } from 'node:timers/promises'
import { deleteOldSessions } from './access/session-store.ts'
import { deleteSessions } from './analytics/delete-sessions.ts'
import { expireSessions } from './analytics/expire.ts'
import type { Context } from './context.ts'
import { chunksChannel } from './encoding/chunk-store.ts'
import { startEncoder } from './encoding/encoder.ts'
import { finishEncoding } from './encoding/finish.ts'
import { planEncoding } from './encoding/plan.ts'
import type { Metrics } from './lib/metrics.ts'
import { removeOrphanedWorkFolders } from './lib/work.ts'
import type { Tools } from './media/ffmpeg.ts'
import { runSweep, sweepEveryMs } from './sweep/sweep.ts'
import { makeThumbnails } from './thumbnails/make.ts'
import { fetchSource } from './uploads/fetch-source.ts'
import { removeFiles, removeForsakenUploads, storeSource } from './uploads/store-source.ts'
import { deleteOldSandboxVideos } from './videos/delete.ts'
import { mergeCounts } from './videos/search.ts'
import { startDispatcher } from './webhooks/dispatcher.ts'
import { deliveriesChannel } from './webhooks/event-store.ts'
import { deleteOldEvents } from './webhooks/expire.ts'

/** Every queue: who does its jobs, and how many at once. */
async function startJobs(context: Context & { tools: Tools }): Promise<void> {
  const { queue } = context
  await queue.work('fetch-source', (job) => fetchSource(context, job))
  await queue.work('store-source', (job) => storeSource(context, job))
  await queue.work('plan-encoding', (job, retries) => planEncoding(context, job, retries))
  await queue.work('finish-encoding', (job, retries) => finishEncoding(context, job, retries))
  await queue.work('make-pictures', (job, retries) => makeThumbnails(context, job, retries))
  await queue.work('remove-files', async (job) => {
    await removeFiles(context, job)
    await deleteSessions(context.db, { mediaId: job.videoId })
  })
}

type Chore = {
  name: string
  everyMs: number
  run: (context: Context & { metrics: Metrics }, closing: AbortSignal) => Promise<void>
}

/** Everything that a worker does by the clock. */
const chores: Chore[] = [
  { name: 'merge video counts', everyMs: 2_000, run: ({ db }) => mergeCounts(db) },
  { name: 'delete old sandbox videos', everyMs: 60_000, run: deleteOldSandboxVideos },
  { name: 'sweep files', everyMs: sweepEveryMs, run: runSweep },
  {
    name: 'clear work',
    everyMs: 3_600_000,
    run: ({ config, now }) => removeOrphanedWorkFolders(config.dataDir, now()),
  },
  { name: 'remove forsaken uploads', everyMs: 3_600_000, run: removeForsakenUploads },
  { name: 'delete old events', everyMs: 3_600_000, run: deleteOldEvents },
  { name: 'expire viewing sessions', everyMs: 600_000, run: expireSessions },
  { name: 'delete old playback sessions', everyMs: 3_600_000, run: deleteOldSessions },
]

export type Worker = {
  /** Notifications that tell of work: by the name of the channel, what to do when one comes. */
  channels: Record<string, () => void>
  close(): Promise<void>
}

export async function startWorker(context: Context & { tools: Tools }, metrics: Metrics): Promise<Worker> {
  await startJobs(context)
  const encoder = startEncoder(context)
  const dispatcher = startDispatcher(context)
  const stop = new AbortController()
  const loops = chores.map(async ({ name, everyMs, run }) => {
    do {
      await run({ ...context, metrics }, stop.signal).catch((err) => {
        if (!stop.signal.aborted) context.log.warn({ err, chore: name }, 'chore failed, trying again later')
      })
    } while (await pause(everyMs, stop.signal))
  })
  return {
    channels: { [chunksChannel]: encoder.wake, [deliveriesChannel]: dispatcher.wake },
    async close() {
      stop.abort()
      await Promise.all([...loops, encoder.close(), dispatcher.close()])
    },
  }
}

/** True after the time, false as soon as the work is to end. */
const pause = (ms: number, signal: AbortSignal) =>
  setTimeout(ms, undefined, { signal }).then(
    () => true,
    () => false,
  )
