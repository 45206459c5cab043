import { fromKysely, PgBoss } from 'pg-boss'
import { type Connection, connectionOptions, type Db } from './db.ts'

type Options = { retryLimit: number; retryDelay: number; retryBackoff: boolean }

export type Queue<Jobs> = {
  /** Enqueues in the caller's transaction: the job exists if and only if the change that asks for it does. */
  send<N extends keyof Jobs & string, T>(db: Db<T>, name: N, data: Jobs[N]): Promise<void>
  close(): Promise<void>
}

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
  } as ConstructorParameters<typeof PgBoss>[0])
  boss.on('error', options.onError)
  await boss.start()
  for (const [name, settings] of Object.entries<Options>(options.queues))
    await boss.createQueue(name, settings)

  return {
    async send(db, name, data) {
      await boss.send(name, data, { db: fromKysely(db) })
    },
    close: () => boss.stop({ graceful: true, timeout: 10_000 }),
  }
}
