import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openDatabase } from '../server/database.ts'
import type { Db } from '../server/lib/db.ts'
import { createLog } from '../server/lib/log.ts'
import { openQueue, type Queue } from '../server/lib/queue.ts'
import type { Tables } from '../server/tables.ts'
import { createDatabase, temporaryFolder } from './harness.ts'

type Jobs = { count: { n: number } }

/** Only notifications start jobs. */
const never = 3_600_000

async function withQueue(
  t: TestContext,
  pollEveryMs: number,
  run: (queue: Queue<Jobs>, db: Db<Tables>) => Promise<void>,
) {
  const config = { databaseUrl: await createDatabase(t), dataDir: await temporaryFolder(t) }
  const { connection, db, close } = await openDatabase(config, createLog('silent', false))
  let isClosed = false
  const queue = await openQueue<Jobs>({
    connection,
    queues: { count: { concurrency: 1, retryLimit: 3, retryDelay: 1, retryBackoff: false } },
    supervise: false,
    onError(error) {
      // Dropping the database may terminate a connection that is being closed.
      if (!isClosed) assert.fail(error)
    },
    pollEveryMs,
  })
  try {
    await run(queue, db)
  } finally {
    await queue.close()
    isClosed = true
    await close()
  }
}

test('a worker runs all waiting jobs one after the other, without another notification', (t) =>
  withQueue(t, never, async (queue, db) => {
    for (let n = 0; n < 5; n++) await queue.send(db, 'count', { n })
    const run = await new Promise<number[]>((resolve) => {
      const seen: number[] = []
      void queue.work('count', async ({ n }) => {
        if (seen.push(n) === 5) resolve(seen)
      })
    })
    assert.deepEqual(run, [0, 1, 2, 3, 4])
  }))

test('a failed job is retried, although nothing notifies the worker when the retry is due', (t) =>
  withQueue(t, 50, async (queue, db) => {
    const attempts: number[] = []
    const succeeded = new Promise<void>((resolve) => {
      void queue.work('count', async (_, retries) => {
        attempts.push(retries)
        if (retries === 0) throw new Error('fails once')
        resolve()
      })
    })
    await queue.send(db, 'count', { n: 1 })
    await succeeded
    assert.deepEqual(attempts, [0, 1])
  }))
