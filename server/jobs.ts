import { setTimeout } from 'node:timers/promises'
import type { Context } from './contracts/context.ts'
import { fetchSource } from './uploads/fetch-source.ts'
import { removeFiles, removeForsakenUploads, storeSource } from './uploads/store-source.ts'
import { mergeCounts } from './videos/search.ts'

/** Every queue: who does its jobs, and how many at once. */
async function startJobs(context: Context): Promise<void> {
  const { queue } = context
  await queue.work('fetch-source', 16, (job) => fetchSource(context, job))
  await queue.work('store-source', 2, (job) => storeSource(context, job))
  await queue.work('remove-files', 1, (job) => removeFiles(context, job))
}

/** Everything that a worker does by the clock. */
const chores: { name: string; everyMs: number; run: (context: Context) => Promise<void> }[] = [
  { name: 'merge video counts', everyMs: 2_000, run: ({ db }) => mergeCounts(db) },
  { name: 'remove forsaken uploads', everyMs: 3_600_000, run: removeForsakenUploads },
]

export type Worker = { close(): Promise<void> }

export async function startWorker(context: Context): Promise<Worker> {
  await startJobs(context)
  const stop = new AbortController()
  const loops = chores.map(async ({ name, everyMs, run }) => {
    while (await pause(everyMs, stop.signal)) {
      await run(context).catch((err) =>
        context.log.warn({ err, chore: name }, 'chore failed, trying again later'),
      )
    }
  })
  return {
    async close() {
      stop.abort()
      await Promise.all(loops)
    },
  }
}

/** True after the time, false as soon as the work is to end. */
const pause = (ms: number, signal: AbortSignal) =>
  setTimeout(ms, undefined, { signal }).then(
    () => true,
    () => false,
  )
