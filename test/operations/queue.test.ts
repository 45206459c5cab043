import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { openDatabase } from '../../server/database.ts'
import type { Db } from '../../server/lib/db.ts'
import { Listener } from '../../server/lib/listener.ts'
import { createLog } from '../../server/lib/log.ts'
import { openQueue, type Queue } from '../../server/lib/queue.ts'
import type { Tables } from '../../server/tables.ts'
import { createDatabase, temporaryFolder, waitFor } from '../support/harness.ts'

type Jobs = { count: { n: number } }

/** Only notifications start jobs. */
const never = 3_600_000

async function withQueue(
  t: TestContext,
  { pollEveryMs = never, concurrency = 1 },
  run: (queue: Queue<Jobs>, db: Db<Tables>) => Promise<void>,
) {
  const config = { databaseUrl: await createDatabase(t), dataDir: await temporaryFolder(t) }
  const { pools, db, close } = await openDatabase(config, createLog('silent', false))
  let isClosed = false
  const queue = await openQueue<Jobs>({
    connection: pools.servers,
    queues: { count: { concurrency, retryLimit: 3, retryDelay: 1, retryBackoff: false } },
    supervise: false,
    onError(error) {
      // Dropping the database may terminate a connection that is being closed.
      if (!isClosed) assert.fail(error)
    },
    pollEveryMs,
  })
  const listener = new Listener(pools.direct, 'listener', { warn() {} })
  await listener.open()
  await listener.subscribe(queue.channels)
  try {
    await run(queue, db)
  } finally {
    await listener.close()
    await queue.close()
    isClosed = true
    await close()
  }
}

test('a worker runs all waiting jobs one after the other, without another notification', (t) =>
  withQueue(t, {}, async (queue, db) => {
    for (let n = 0; n < 5; n++) await queue.send(db, 'count', { n })
    const run = await new Promise<number[]>((resolve) => {
      const seen: number[] = []
      void queue.work({
        async count({ n }) {
          if (seen.push(n) === 5) resolve(seen)
        },
      })
    })
    assert.deepEqual(run, [0, 1, 2, 3, 4])
  }))

test('a notification starts a job, and as many jobs as allowed run at the same time', (t) =>
  withQueue(t, { concurrency: 3 }, async (queue, db) => {
    const running: { n: number; end(): void }[] = []
    let ended = 0
    await queue.work({
      async count({ n }) {
        await new Promise<void>((end) => running.push({ n, end }))
        ended++
      },
    })
    const send = async (...numbers: number[]) => {
      for (const n of numbers) await queue.send(db, 'count', { n })
    }
    const isRunning = (...numbers: number[]) =>
      waitFor(() => numbers.every((each) => running.some(({ n }) => n === each)))
    await send(0)
    await isRunning(0)
    await send(1, 2, 3, 4)
    await isRunning(0, 1, 2)
    assert.equal(running.length, 3)
    running[1]!.end()
    await isRunning(3)
    assert.equal(running.length, 4)
    for (const { end } of running) end()
    await isRunning(4)
    running.at(-1)!.end()
    await waitFor(() => ended === 5)
    // All workers are idle now, after they have looked for more jobs.
    await send(5)
    await isRunning(5)
    running.at(-1)!.end()
    await waitFor(() => ended === 6)
    assert.equal(running.length, 6, 'each job has run once')
  }))

test('a job that is taken for dead while it still runs is not run a second time by the same process', (t) =>
  withQueue(t, { pollEveryMs: 50, concurrency: 2 }, async (queue, db) => {
    const state = async () => {
      const { rows } = await sql<{
        state: string
      }>`select state from pgboss.job where name = 'count'`.execute(db)
      return rows[0]?.state
    }
    const end = Promise.withResolvers<void>()
    let runs = 0
    await queue.work({
      async count() {
        runs++
        await end.promise
      },
    })
    await queue.send(db, 'count', { n: 1 })
    await waitFor(() => runs === 1)
    // What the supervisor of pg-boss does after missed heartbeats.
    await sql`update pgboss.job set state = 'retry', start_after = now(), retry_count = 1`.execute(db)
    await waitFor(async () => (await state()) === 'active')
    end.resolve()
    await waitFor(async () => (await state()) === 'completed')
    assert.equal(runs, 1)
  }))

test('a failed job is retried, although nothing notifies the worker when the retry is due', (t) =>
  withQueue(t, { pollEveryMs: 50 }, async (queue, db) => {
    const attempts: number[] = []
    const succeeded = new Promise<void>((resolve) => {
      void queue.work({
        async count(_, retries) {
          attempts.push(retries)
          if (retries === 0) throw new Error('fails once')
          resolve()
        },
      })
    })
    await queue.send(db, 'count', { n: 1 })
    await succeeded
    assert.deepEqual(attempts, [0, 1])
  }))
