import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sql } from 'kysely'
import type pg from 'pg'
import { openPool } from '../../server/lib/db.ts'
import { ApiError } from '../../server/lib/errors.ts'
import { LimitedReads, prepareForReads, type ReadLimits } from '../../server/lib/limited-reads.ts'
import { createDatabase, query, waitFor } from '../support/harness.ts'

const ends: (() => unknown)[] = []
let database: string
before(async () => {
  database = await createDatabase({ after: (end) => ends.push(end) })
})
after(async () => {
  for (const end of ends) await end()
})

const longMs = 600_000
const reader = { subject: 'key', signal: new AbortController().signal }

/** Limits that no test reaches, except for the given ones. */
function openReads(
  t: { after(end: () => unknown): void },
  limits: Partial<ReadLimits> = {},
  isPooled = false,
) {
  const all = { maxRunning: 2, maxWaiting: 10, waitMs: longMs, runMs: longMs, ...limits }
  const pool = openPool(database, () => {}, {
    max: all.maxRunning,
    ...(!isPooled && { onConnect: (client: pg.ClientBase) => prepareForReads(client, all) }),
  })
  t.after(() => pool.end())
  return new LimitedReads(pool, {
    terminate: (pid) => query(database, 'select pg_terminate_backend($1)', [pid]),
    limits: all,
    isPooled,
  })
}

const sleeping = `select pid from pg_stat_activity
  where datname = current_database() and state = 'active' and query ~ '^select pg_sleep'`
const countSleeping = async () => (await query(database, sleeping)).length

const fails = (status: number, sentence: RegExp) => (error: unknown) =>
  error instanceof ApiError && error.status === status && sentence.test(error.message)

test('the query of a reader who leaves ends, and the next reader runs', async (t) => {
  const reads = openReads(t, { maxRunning: 1 })
  const gone = new AbortController()
  const slow = reads.run({ ...reader, signal: gone.signal }, (db) => sql`select pg_sleep(600)`.execute(db))
  const next = reads.run(reader, (db) => sql<{ n: number }>`select 1 as n`.execute(db))
  await waitFor(async () => (await countSleeping()) === 1)
  gone.abort()
  await assert.rejects(slow, fails(400, /closed the connection/))
  await waitFor(async () => (await countSleeping()) === 0)
  assert.equal((await next).rows[0]?.n, 1)
})

test('with a pooler, a read is one transaction with the same limits, which leaves nothing in the connection', async (t) => {
  const reads = openReads(t, { maxRunning: 1, runMs: 1_000 }, true)
  const settings = sql<{ timeout: string; isReadOnly: string }>`
    select current_setting('statement_timeout') as timeout, current_setting('transaction_read_only') as "isReadOnly"`
  const { rows } = await reads.run(reader, (db) => settings.execute(db))
  assert.deepEqual(rows, [{ timeout: '1s', isReadOnly: 'on' }])
  await assert.rejects(
    reads.run(reader, (db) => sql`select pg_sleep(600)`.execute(db)),
    fails(503, /takes too long/),
  )
  await assert.rejects(
    reads.run(reader, (db) => sql`select wrong`.execute(db)),
    /wrong/,
  )
  assert.deepEqual((await reads.run(reader, (db) => settings.execute(db))).rows, rows)
  assert.equal(await countSleeping(), 0)
})

test('a reader who leaves between two queries starts no more', async (t) => {
  const reads = openReads(t)
  const gone = new AbortController()
  let isStarted = false
  const read = reads.run({ ...reader, signal: gone.signal }, async (db) => {
    await sql`select 1`.execute(db)
    gone.abort()
    await sql`select 1`.execute(db)
    isStarted = true
  })
  await assert.rejects(read, fails(400, /closed the connection/))
  assert.equal(isStarted, false)
})

test('queries of one read together may not exceed the time limit', async (t) => {
  const reads = openReads(t, { runMs: 1_000 })
  const many = reads.run(reader, async (db) => {
    for (;;) await sql`select pg_sleep(0.1)`.execute(db)
  })
  await assert.rejects(many, fails(503, /takes too long/))
  await waitFor(async () => (await countSleeping()) === 0)
})

test('Postgres ends a query whose process died', async (t) => {
  const reads = openReads(t, { runMs: 1_234 })
  const { rows } = await reads.run(reader, (db) =>
    sql<{ timeout: string }>`select current_setting('statement_timeout') as timeout`.execute(db),
  )
  assert.equal(rows[0]?.timeout, '1234ms')
})

test('a read cannot write', async (t) => {
  const write = openReads(t).run(reader, (db) => sql`create table written (n int)`.execute(db))
  await assert.rejects(write, /read-only/)
})

test('readers beyond the limits get an error with the time to wait', async (t) => {
  const reads = openReads(t, { maxRunning: 1, maxWaiting: 1, waitMs: 1 })
  const gone = new AbortController()
  const slow = reads.run({ ...reader, signal: gone.signal }, (db) => sql`select pg_sleep(600)`.execute(db))
  const others = [1, 2].map(() => reads.run(reader, (db) => sql`select 1`.execute(db)))
  for (const result of await Promise.allSettled(others)) {
    const error = result.status === 'rejected' ? result.reason : undefined
    assert.ok(fails(503, /Too many/)(error))
    assert.ok(Number(error.extra.headers['retry-after']) > 0)
  }
  gone.abort()
  await assert.rejects(slow)
})
