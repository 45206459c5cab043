import { setTimeout } from 'node:timers/promises'
import type { Context } from './contracts/context.ts'
import { type Encoder, startEncoder } from './encoding/encoder.ts'
import { finishEncoding } from './encoding/finish.ts'
import { planEncoding } from './encoding/plan.ts'
import { findTools, type Tools } from './media/ffmpeg.ts'
import { fetchSource } from './uploads/fetch-source.ts'
import { removeFiles, removeForsakenUploads, storeSource } from './uploads/store-source.ts'
import { deleteOldSandboxVideos } from './videos/expire.ts'
import { mergeCounts } from './videos/search.ts'

/** Every queue: who does its jobs, and how many at once. */
async function startJobs(context: Context & { tools: Tools }): Promise<void> {
  const { queue } = context
  await queue.work('fetch-source', 16, (job) => fetchSource(context, job))
  await queue.work('store-source', 2, (job) => storeSource(context, job))
  await queue.work('plan-encoding', 2, (job) => planEncoding(context, job))
  await queue.work('finish-encoding', 1, (job) => finishEncoding(context, job))
  await queue.work('remove-files', 1, (job) => removeFiles(context, job))
}

/** Everything that a worker does by the clock. */
const chores: { name: string; everyMs: number; run: (context: Context) => Promise<void> }[] = [
  { name: 'merge video counts', everyMs: 2_000, run: ({ db }) => mergeCounts(db) },
  { name: 'delete old sandbox videos', everyMs: 60_000, run: deleteOldSandboxVideos },
  { name: 'remove forsaken uploads', everyMs: 3_600_000, run: removeForsakenUploads },
]

export type Worker = Pick<Encoder, 'wake' | 'close'>

export async function startWorker(context: Context): Promise<Worker> {
  const { ffmpeg, ffprobe, encodeStallMs: stallMs } = context.config
  const equipped = { ...context, tools: await findTools({ ffmpeg, ffprobe, stallMs }) }
  await startJobs(equipped)
  const encoder = startEncoder(equipped)
  const stop = new AbortController()
  const loops = chores.map(async ({ name, everyMs, run }) => {
    do {
      await run(context).catch((err) =>
        context.log.warn({ err, chore: name }, 'chore failed, trying again later'),
      )
    } while (await pause(everyMs, stop.signal))
  })
  return {
    wake: encoder.wake,
    async close() {
      stop.abort()
      await Promise.all([...loops, encoder.close()])
    },
  }
}

/** True after the time, false as soon as the work is to end. */
const pause = (ms: number, signal: AbortSignal) =>
  setTimeout(ms, undefined, { signal }).then(
    () => true,
    () => false,
  )
