import { setTimeout } from 'node:timers/promises'
import type { Context } from './contracts/context.ts'
import { mergeCounts } from './videos/search.ts'

/** Everything that a worker does by the clock. */
const chores: { name: string; everyMs: number; run: (context: Context) => Promise<void> }[] = [
  { name: 'merge video counts', everyMs: 2_000, run: ({ db }) => mergeCounts(db) },
]

export type Worker = { close(): Promise<void> }

export function startWorker(context: Context): Worker {
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
