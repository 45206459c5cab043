import { setTimeout } from 'node:timers/promises'
import type { JobHandlers } from './lib/queue.ts'
import type { Jobs } from './queues.ts'
import type { JobHandler, Service, Task, WorkerContext } from './slice.ts'
import { jobErrors, queues, slices } from './slices.ts'

/** Tasks begin one after the other, because each task that begins while others run opens another database connection. */
const betweenTasksMs = 50

/** A task that failed does not wait for its next turn, which may be an hour away. */
const retryTaskAfterMs = 60_000

/** Runs the jobs, tasks and services of all slices. */
export async function startWorker(context: WorkerContext): Promise<Service> {
  const closing = new AbortController()
  const running = new Map<string, number>()
  context.metrics.gauge(
    { name: 'kinora_jobs_running', help: 'Jobs that this process runs, by queue', labels: ['queue'] },
    () => Object.keys(queues).map((queue) => ({ value: running.get(queue) ?? 0, labels: { queue } })),
  )
  await context.queue.work(jobHandlers(context, running, closing.signal))
  const services = slices.flatMap(({ services = [] }) => services).map((start) => start(context))
  const tasks = slices
    .flatMap(({ tasks = [] }) => tasks)
    .map(async (task, i) => {
      if (await pause(i * betweenTasksMs, closing.signal)) await repeat(task, context, closing.signal)
    })
  return {
    channels: Object.assign({}, ...services.map(({ channels }) => channels)),
    async close() {
      closing.abort()
      await Promise.all([...tasks, ...services.map((service) => service.close())])
    },
  }
}

function jobHandlers(
  context: WorkerContext,
  running: Map<string, number>,
  closing: AbortSignal,
): JobHandlers<Jobs> {
  const handlerOf = <N extends keyof Jobs>(name: N) => {
    const handlers: JobHandler<N>[] = slices.flatMap(({ jobs }) => jobs?.[name] ?? [])
    if (handlers.length === 0) throw new Error(`no slice handles the jobs of the queue ${name}`)
    return async (job: Jobs[N], retries: number) => {
      if (queues[name].needsSpace) await context.space.whenFree(closing)
      const count = (change: number) => running.set(name, (running.get(name) ?? 0) + change)
      count(1)
      try {
        for (const handle of handlers) await handle(context, job, retries)
      } catch (error) {
        context.metrics.count(jobErrors, { queue: name })
        throw error
      } finally {
        count(-1)
      }
    }
  }
  const names = Object.keys(queues) as (keyof Jobs)[]
  return Object.fromEntries(names.map((name) => [name, handlerOf(name)])) as JobHandlers<Jobs>
}

async function repeat({ name, everyMs, run }: Task, context: WorkerContext, closing: AbortSignal) {
  let waitMs: number
  do {
    waitMs = everyMs
    await run(context, closing).catch((err) => {
      waitMs = Math.min(everyMs, retryTaskAfterMs)
      if (!closing.aborted) context.log.warn({ err, task: name }, 'task failed, will be retried')
    })
  } while (await pause(waitMs, closing))
}

/** Resolves to true after the time, and to false when the signal aborts. */
const pause = (ms: number, signal: AbortSignal) =>
  setTimeout(ms, undefined, { signal }).then(
    () => true,
    () => false,
  )
