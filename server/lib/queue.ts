import { isDeepStrictEqual } from 'node:util'
import { fromKysely, PgBoss } from 'pg-boss'
import { type Connection, connectionOptions, type Db } from './db.ts'

type Retries = { retryLimit: number; retryDelay: number; retryBackoff: boolean; retryDelayMax?: number }

/** `concurrency` is the number of jobs that one process runs at the same time. */
export type QueueOptions = Retries & { concurrency: number }

export type Queues<Jobs> = Record<keyof Jobs & string, QueueOptions>

export type Queue<Jobs> = {
  /** Enqueues a job in the caller's transaction, so that the job exists only if the transaction commits. */
  send<N extends keyof Jobs & string, T>(db: Db<T>, name: N, data: Jobs[N]): Promise<void>
  /** Starts running the jobs of a queue. A handler that throws is retried. */
  work<N extends keyof Jobs & string>(name: N, handler: JobHandler<Jobs[N]>): Promise<void>
  close(): Promise<void>
}

/** `retries` is the number of earlier attempts. */
export type JobHandler<Data> = (data: Data, retries: number) => Promise<void>

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

export async function openQueue<Jobs extends Record<string, object>>(options: {
  connection: Connection
  queues: Queues<Jobs>
  /** Whether this process runs the maintenance of the queues. */
  supervise: boolean
  onError: (error: Error) => void
  /** How often due jobs without a notification are looked for. */
  pollEveryMs?: number
}): Promise<Queue<Jobs>> {
  const boss = new PgBoss({
    ...connectionOptions(options.connection),
    application_name: 'kinora jobs',
    max: 4,
    supervise: options.supervise,
    schedule: false,
    useListenNotify: true,
    monitorIntervalSeconds: pollEverySeconds,
    superviseIntervalSeconds: pollEverySeconds,
  } as ConstructorParameters<typeof PgBoss>[0])
  boss.on('error', options.onError)
  try {
    await createQueues(boss, options.queues)
  } catch (error) {
    await boss.stop({ graceful: false }).catch(() => {})
    throw error
  }

  /** The ids of the workers of each queue. */
  const workers = new Map<string, string[]>()
  const poll = async () => {
    for (const name of await findDueQueues(boss, [...workers.keys()]))
      for (const id of workers.get(name)!) boss.notifyWorker(id)
  }
  const stopPolling = repeat(poll, options.pollEveryMs ?? pollEverySeconds * 1000, options.onError)
  return {
    async send(db, name, data) {
      await boss.send(name, data, { db: fromKysely(db) })
    },
    async work(name, handler) {
      const ids: string[] = []
      workers.set(name, ids)
      for (let i = 0; i < options.queues[name].concurrency; i++)
        ids.push(await startWorker<Jobs[typeof name]>(boss, name, handler))
    },
    async close() {
      stopPolling()
      await boss.stop({ graceful: true, timeout: 10_000 })
    },
  }
}

/** Runs one job at a time. */
async function startWorker<Data extends object>(
  boss: PgBoss,
  name: string,
  handler: JobHandler<Data>,
): Promise<string> {
  const workOptions = {
    heartbeatRefreshSeconds,
    pollingIntervalSeconds: 2,
    notifyPollingIntervalSeconds: pollWorkerEverySeconds,
  }
  let id = ''
  id = await boss.work<Data>(name, workOptions, async ([job]) => {
    if (!job) return
    try {
      await handler(job.data, job.retryCount)
    } finally {
      // pg-boss would wait for a notification, although more jobs may be waiting.
      boss.notifyWorker(id)
    }
  })
  return id
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
  for (const [name, { concurrency: _, ...retries }] of Object.entries(queues)) {
    const queue = { ...retries, notify: true, heartbeatSeconds, expireInSeconds: 24 * 3_600 }
    // An update clears the queue cache of pg-boss in every worker, so unchanged queues are skipped.
    if (hasSettings(existing.get(name), queue)) continue
    await boss.createQueue(name, queue)
    await boss.updateQueue(name, queue)
  }
}

const hasSettings = (existing: object | undefined, wanted: object) =>
  existing !== undefined && isDeepStrictEqual({ ...existing, ...wanted }, existing)
