import { setTimeout } from 'node:timers/promises'
import { type Jobs, queues } from './queues.ts'
import type { JobHandler, Service, Task, WorkerContext } from './slice.ts'
import { slices } from './slices.ts'

/** Runs the jobs, tasks and services of all slices. */
export async function startWorker(context: WorkerContext): Promise<Service> {
  await startJobs(context)
  const services = slices.flatMap(({ services = [] }) => services).map((start) => start(context))
  const closing = new AbortController()
  const tasks = slices.flatMap(({ tasks = [] }) => tasks).map((task) => repeat(task, context, closing.signal))
  return {
    channels: Object.assign({}, ...services.map(({ channels }) => channels)),
    async close() {
      closing.abort()
      await Promise.all([...tasks, ...services.map((service) => service.close())])
    },
  }
}

async function startJobs(context: WorkerContext): Promise<void> {
  const start = async <N extends keyof Jobs>(name: N) => {
    const handlers: JobHandler<N>[] = slices.flatMap(({ jobs }) => jobs?.[name] ?? [])
    if (handlers.length === 0) throw new Error(`no slice handles the jobs of the queue ${name}`)
    await context.queue.work(name, async (job, retries) => {
      for (const handle of handlers) await handle(context, job, retries)
    })
  }
  for (const name of Object.keys(queues) as (keyof Jobs)[]) await start(name)
}

async function repeat({ name, everyMs, run }: Task, context: WorkerContext, closing: AbortSignal) {
  do {
    await run(context, closing).catch((err) => {
      if (!closing.aborted) context.log.warn({ err, task: name }, 'task failed, will be retried')
    })
  } while (await pause(everyMs, closing))
}

/** Resolves to true after the time, and to false when the signal aborts. */
const pause = (ms: number, signal: AbortSignal) =>
  setTimeout(ms, undefined, { signal }).then(
    () => true,
    () => false,
  )
