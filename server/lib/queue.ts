import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { fromKysely, type Job, PgBoss } from 'pg-boss'
import { shareConnections } from './database/connections.ts'
import { type Connection, serversOf } from './database/servers.ts'
import type { Db } from './db.ts'

type Retries = { retryLimit: number; retryDelay: number; retryBackoff: boolean; retryDelayMax?: number }

/**
 * `concurrency` is the number of jobs that one process runs at the same time. Jobs of a queue with `needsSpace` wait while
 * the disk is almost full.
 */
type QueueOptions = Retries & { concurrency: number; needsSpace?: boolean }

export type Queues<Jobs> = Record<keyof Jobs & string, QueueOptions>

export type Queue<Jobs> = {
  /** Enqueues a job in the caller's transaction, so that the job exists only if the transaction commits. */
  send<N extends keyof Jobs & string, T>(db: Db<T>, name: N, data: Jobs[N]): Promise<void>
  /** Starts running jobs. A job whose handler throws is retried. */
  work(handlers: JobHandlers<Jobs>): Promise<void>
  /** The notification channel of new jobs. Without a notification, a job starts at the next poll. */
  channels: Record<string, (name?: string) => void>
  close(): Promise<void>
}

/** `retries` is the number of earlier attempts. */
type JobHandler<Data> = (data: Data, retries: number) => Promise<void>

export type JobHandlers<Jobs> = { [N in keyof Jobs & string]: JobHandler<Jobs[N]> }

/**
 * A worker that sends no heartbeat for this long is considered dead, and its job goes to another worker. The handover
 * takes 21 s at most: 10 s (the minimum of pg-boss), 5 s until the next check, 1 s of retry delay and 5 s until the job
 * is polled.
 */
const heartbeatSeconds = 10
/** Only three missed heartbeats in a row count as dead. */
const heartbeatRefreshSeconds = 3
const pollEverySeconds = 5
/** How often pg-boss polls for each worker. Our own poll finds due jobs of all queues with one query. */
const pollWorkerEverySeconds = 600
const schema = 'pgboss'
/** The channel on which pg-boss notifies of new jobs, with the name of the queue. */
const jobsChannel = `pgboss_${createHash('sha224').update(schema).digest('hex').slice(0, 24)}`

export async function openQueue<Jobs extends { [N in keyof Jobs]: object }>(options: {
  connection: Connection
  queues: Queues<Jobs>
  /** Whether this process runs the maintenance of the queues. */
  supervise: boolean
  onError: (error: Error) => void
  maxConnections?: number
  /** How often due jobs without a notification are looked for. */
  pollEveryMs?: number
}): Promise<Queue<Jobs>> {
  const boss = new PgBoss({
    ...serversOf(options.connection).options,
    application_name: 'kinora jobs',
    max: options.maxConnections ?? shareConnections().jobs,
    supervise: options.supervise,
    schedule: false,
    schema,
    // pg-boss would use a connection of its own, and wake all workers of a queue for each job.
    useListenNotify: false,
    monitorIntervalSeconds: pollEverySeconds,
    superviseIntervalSeconds: pollEverySeconds,
  } as ConstructorParameters<typeof PgBoss>[0])
  let isClosing = false
  // After `stop`, connections still exist for a moment, in which the embedded Postgres may stop.
  const report = (error: Error) => {
    if (!isClosing) options.onError(error)
  }
  boss.on('error', report)
  const queues: Record<string, QueueOptions> = options.queues
  try {
    await createQueues(boss, queues)
  } catch (error) {
    await boss.stop({ graceful: false }).catch(() => {})
    throw error
  }

  const pools = new Map<string, WorkerPool>()
  const poll = async () => {
    for (const name of await findDueQueues(boss, [...pools.keys()])) await pools.get(name)!.grow()
  }
  const stopPolling = repeat(poll, options.pollEveryMs ?? pollEverySeconds * 1000, report)
  return {
    async send(db, name, data) {
      await boss.send(name, data, { db: fromKysely(db) })
    },
    async work(handlers) {
      for (const [name, handler] of Object.entries<JobHandler<never>>(handlers)) {
        const { concurrency } = queues[name]!
        pools.set(name, createWorkerPool({ boss, name, concurrency, handler, onError: report }))
      }
      await poll().catch(report)
    },
    channels: {
      [jobsChannel]: (name) => {
        if (name === undefined) void poll().catch(report)
        else pools.get(name)?.wake()
      },
    },
    async close() {
      isClosing = true
      stopPolling()
      await boss.stop({ graceful: true, timeout: 10_000 })
    },
  }
}

/** The workers of a queue. */
type WorkerPool = {
  /** Makes an idle worker look for a job. Adds a worker if none is idle. */
  wake(): void
  /** Adds a worker, which looks for a job. Wakes one if there are enough. */
  grow(): Promise<void>
}

/**
 * Each worker runs one job at a time. A worker that has found a job wakes another one, because there may be more jobs.
 * Waking all workers for each job would take a query of each of them.
 */
function createWorkerPool<Data extends object>({
  boss,
  name,
  concurrency,
  handler,
  onError,
}: {
  boss: PgBoss
  name: string
  concurrency: number
  handler: JobHandler<Data>
  onError: (error: Error) => void
}): WorkerPool {
  const workOptions = { heartbeatRefreshSeconds, pollingIntervalSeconds: pollWorkerEverySeconds }
  const idle = new Set<string>()
  // After a pause of this process, pg-boss considers a job dead that still runs here, and starts it again.
  const running = new Map<string, Promise<void>>()
  let size = 0

  function runJob({ id, data, retryCount }: Job<Data>): Promise<void> {
    const run = running.get(id) ?? handler(data, retryCount).finally(() => running.delete(id))
    running.set(id, run)
    return run
  }

  async function addWorker(): Promise<void> {
    size++
    let id = ''
    id = await boss.work<Data>(name, workOptions, async ([job]) => {
      if (!job) return
      idle.delete(id)
      wake()
      try {
        await runJob(job)
      } finally {
        idle.add(id)
        // pg-boss would wait for a notification, although more jobs may be waiting.
        boss.notifyWorker(id)
      }
    })
    idle.add(id)
  }
  function wake(): void {
    const [id] = idle
    if (id === undefined) return void grow().catch(onError)
    // Another one is next, in case this one waits for a broken connection.
    idle.delete(id)
    idle.add(id)
    boss.notifyWorker(id)
  }
  async function grow(): Promise<void> {
    if (size < concurrency) await addWorker()
    else if (idle.size > 0) wake()
  }
  return { wake, grow }
}

/** Finds the queues with a job that is due. Retries and the jobs of dead workers become due without a notification. */
async function findDueQueues(boss: PgBoss, names: string[]): Promise<string[]> {
  if (names.length === 0) return []
  const { rows } = await boss.getDb().executeSql(
    `select name from unnest($1::text[]) as names (name)
     where exists (
       select from pgboss.job j
       where j.name = names.name and j.state < 'active' and not j.blocked and j.start_after < now()
     )`,
    [names],
  )
  return rows.map(({ name }: { name: string }) => name)
}

/** Returns a function that ends the repetition. */
function repeat(run: () => Promise<void>, everyMs: number, onError: (error: Error) => void): () => void {
  const next = () => setTimeout(() => run().catch(onError).finally(schedule), everyMs).unref()
  let timer = next()
  let isStopped = false
  function schedule() {
    if (!isStopped) timer = next()
  }
  return () => {
    isStopped = true
    clearTimeout(timer)
  }
}

async function createQueues(boss: PgBoss, queues: Record<string, QueueOptions>): Promise<void> {
  await boss.start()
  const existing = new Map((await boss.getQueues()).map((queue) => [queue.name, queue]))
  for (const [name, { concurrency: _, needsSpace: __, ...retries }] of Object.entries(queues)) {
    const queue = { ...retries, notify: true, heartbeatSeconds, expireInSeconds: 24 * 3_600 }
    // An update clears the queue cache of pg-boss in every worker, so unchanged queues are skipped.
    if (hasSettings(existing.get(name), queue)) continue
    await boss.createQueue(name, queue)
    await boss.updateQueue(name, queue)
  }
}

const hasSettings = (existing: object | undefined, wanted: object) =>
  existing !== undefined && isDeepStrictEqual({ ...existing, ...wanted }, existing)
