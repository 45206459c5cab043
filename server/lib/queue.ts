import { isDeepStrictEqual } from 'node:util'
import { fromKysely, PgBoss } from 'pg-boss'
import { type Connection, connectionOptions, type Db } from './db.ts'

type Options = { retryLimit: number; retryDelay: number; retryBackoff: boolean; retryDelayMax?: number }

export type Queue<Jobs> = {
  /** Enqueues in the caller's transaction: the job exists if and only if the change that asks for it does. */
  send<N extends keyof Jobs & string, T>(db: Db<T>, name: N, data: Jobs[N]): Promise<void>
  /**
   * Runs the jobs of a queue, so many at once. A handler that throws is tried again; it is told how often that has
   * happened already.
   */
  work<N extends keyof Jobs & string>(
    name: N,
    atOnce: number,
    handler: (data: Jobs[N], retries: number) => Promise<void>,
  ): Promise<void>
  close(): Promise<void>
}

/**
 * A worker that does not report for so long is gone, and its job is given to another: 10 s, the least that pg-boss
 * takes, 5 s until somebody looks, 1 s before it is tried again and 5 s until it is taken make 21 s.
 */
const heartbeatSeconds = 10
/** Three in a row have to be missed. */
const heartbeatRefreshSeconds = 3
const lookEverySeconds = 5

export async function openQueue<Jobs extends Record<string, object>>(options: {
  connection: Connection
  queues: Record<keyof Jobs & string, Options>
  /** Whether this process does the queue's housekeeping. */
  supervise: boolean
  onError: (error: Error) => void
}): Promise<Queue<Jobs>> {
  const boss = new PgBoss({
    ...connectionOptions(options.connection),
    application_name: 'kinora jobs',
    max: 4,
    supervise: options.supervise,
    schedule: false,
    useListenNotify: true,
    monitorIntervalSeconds: lookEverySeconds,
    superviseIntervalSeconds: lookEverySeconds,
  } as ConstructorParameters<typeof PgBoss>[0])
  boss.on('error', options.onError)
  try {
    await openQueues(boss, options.queues)
  } catch (error) {
    await boss.stop({ graceful: false }).catch(() => {})
    throw error
  }

  return {
    async send(db, name, data) {
      await boss.send(name, data, { db: fromKysely(db) })
    },
    async work(name, atOnce, handler) {
      const options = {
        localConcurrency: atOnce,
        heartbeatRefreshSeconds,
        pollingIntervalSeconds: 2,
        // Nobody is notified when the time comes to try a job again; unless told, pg-boss looks every 30 s.
        notifyPollingIntervalSeconds: lookEverySeconds,
      }
      await boss.work<Jobs[typeof name]>(name, options, async ([job]) => {
        if (job) await handler(job.data, job.retryCount)
      })
    },
    close: () => boss.stop({ graceful: true, timeout: 10_000 }),
  }
}

async function openQueues(boss: PgBoss, queues: Record<string, Options>): Promise<void> {
  await boss.start()
  const existing = new Map((await boss.getQueues()).map((queue) => [queue.name, queue]))
  for (const [name, settings] of Object.entries(queues)) {
    const queue = { ...settings, notify: true, heartbeatSeconds, expireInSeconds: 24 * 3_600 }
    // Left alone where nothing changes: an update empties pg-boss's cache, and every worker would fill it again.
    if (hasSettings(existing.get(name), queue)) continue
    await boss.createQueue(name, queue)
    await boss.updateQueue(name, queue)
  }
}

const hasSettings = (existing: object | undefined, wanted: object) =>
  existing !== undefined && isDeepStrictEqual({ ...existing, ...wanted }, existing)
