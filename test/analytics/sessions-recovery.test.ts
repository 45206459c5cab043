import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { deleteSessions } from '../../server/analytics/delete-sessions.ts'
import { updatePartitions } from '../../server/analytics/expire.ts'
import { dropPartition, isLockUnavailable } from '../../server/analytics/partition-store.ts'
import { readReport, readWatchReport } from '../../server/analytics/report.ts'
import { createSessionWriter } from '../../server/analytics/session-writer.ts'
import { openDb, openPool } from '../../server/lib/db.ts'
import { ApiError } from '../../server/lib/errors.ts'
import { createLog } from '../../server/lib/log.ts'
import type { Tables } from '../../server/tables.ts'
import { assertProblem, call, query, sharedKinora, startKinora, waitFor } from '../support/harness.ts'
import { ago, insertSessions } from '../support/session-rows.ts'
import { createViewableVideo, iso, type Loose, viewing } from '../support/viewings.ts'

// Playback reports across crashes, concurrent processes and midnight.

const service = sharedKinora()

const day = (offset: number) => iso(Date.now() + offset * 86_400_000).slice(0, 10)
const partition = (offset: number, kind = 'sessions') => `viewing_${kind}_${day(offset).replaceAll('-', '')}`

test('a session continues past midnight, but not after it has expired', async (t) => {
  const videoId = await createViewableVideo(service)
  const db = openDb<Tables>(openPool(service.database, () => {}))
  t.after(() => db.destroy())
  const start = Date.UTC(2030, 0, 1, 23, 59, 50)
  let now = start
  const writer = createSessionWriter({
    db,
    log: createLog('silent', false),
    secret: Buffer.from('x'),
    now: () => new Date(now),
  })
  const sender = { ipAddress: '192.0.2.1', userAgent: 'a', country: undefined, bytes: 500 }
  const short = () => {
    const eve = [{ eat: now, typ: 4, vti: (now - start) / 1_000, pau: false }]
    return writer.submit(readWatchReport({ sat: now, sid: 'tab', pid: 'p', mid: videoId, eve }, sender))
  }
  const long = (session: Loose = {}) => {
    const events = [{ type: 'progress', emitted_at: iso(now), at: (now - start) / 1_000 }]
    session = { video_id: videoId, loaded_at: iso(start), ...session }
    return writer.submit(readReport({ emitted_at: iso(now), session, events } as Loose, sender))
  }
  const first = await Promise.all([short(), long()])
  now += 15_000
  assert.deepEqual(await Promise.all([short(), long()]), first)
  now += 5_000
  assert.equal(await long({ session_id: first[1] }), first[1])
  const rows = await query(
    service.database,
    'select count(*)::int as events, count(distinct emitted_at::date)::int as days from viewing_events where session_id = $1',
    [first[1]],
  )
  assert.deepEqual(rows, [{ events: 3, days: 2 }])
  now += 2 * 86_400_000
  const later = await long({ session_id: first[1] })
  assert.notEqual(later, first[1])
  assert.equal(await long({ session_id: first[1] }), later, 'later reports go to the new session')
})

test('processes that receive the same reports concurrently count each session once', async (t) => {
  const videoId = await createViewableVideo(service)
  const dbs = [1, 2].map(() => openDb<Tables>(openPool(service.database, () => {})))
  t.after(() => Promise.all(dbs.map((db) => db.destroy())))
  const log = createLog('silent', false)
  const writers = dbs.map((db) =>
    createSessionWriter({ db, log, secret: Buffer.from('shared'), now: () => new Date() }),
  )
  const reports = Array.from({ length: 60 }, (_, i) => {
    // Later sessions load later, so that no two have the same time even if this loop is slow.
    const { event, report } = viewing(videoId, 36_000 - i * 100)
    const sender = { ipAddress: '192.0.2.1', userAgent: 'a', country: undefined, bytes: 500 }
    return [0, 1, 2, 3].map((n) =>
      readReport(report([event(1 + n, n === 0 ? 'play' : 'progress', { at: n })]) as Loose, sender),
    )
  })
  // Each writer gets the reports in a different order.
  const sent = reports.flat()
  const ids = await Promise.all([
    ...sent.map((report) => writers[0]!.submit(report)),
    ...sent.toReversed().map((report) => writers[1]!.submit(report)),
  ])
  assert.equal(new Set(ids).size, reports.length)
  const [{ sessions, plays }] = await query(
    service.database,
    'select count(*)::int as sessions, sum(plays)::int as plays from viewing_sessions where media_id = $1',
    [videoId],
  )
  assert.deepEqual([sessions, plays], [60, 60])
  const [{ events }] = await query(
    service.database,
    'select count(*)::int as events from viewing_events where session_id = any($1)',
    [ids],
  )
  assert.equal(events, 240)
})

test('a report creates a missing partition', async () => {
  const videoId = await createViewableVideo(service)
  const { event, report } = viewing(videoId, 1_000)
  for (const kind of ['sessions', 'events']) await query(service.database, `drop table ${partition(0, kind)}`)
  const body = report([event(0, 'ready')])
  const responses = await Promise.all(
    Array.from({ length: 5 }, () =>
      call(`${service.url}/collector/vod`, { method: 'POST', key: '', json: body }),
    ),
  )
  assert.deepEqual(
    responses.map(({ status }) => status),
    Array(5).fill(200),
  )
  assert.equal((await call(`${service.url}/analytics/videos/${videoId}`)).body.pagination.itemsTotal, 1)
})

const openTables = (t: TestContext) => {
  const db = openDb<Tables>(openPool(service.database, () => {}))
  t.after(() => db.destroy())
  return db
}

/** Another connection with an open transaction. */
async function beginTransaction(t: TestContext): Promise<pg.Client> {
  const client = new pg.Client(service.database)
  await client.connect()
  t.after(() => client.end())
  await client.query('begin')
  return client
}

const waitForLock = () =>
  waitFor(async () => {
    const sql =
      "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    return (await query(service.database, sql)).length > 0
  })

test('no report is stored for a deleted video, even if it is deleted at the same time', async (t) => {
  const videoId = await createViewableVideo(service)
  const { event, report } = viewing(videoId)
  const send = (seconds: number) =>
    call(`${service.url}/collector/vod`, {
      method: 'POST',
      key: '',
      json: report([event(seconds, 'progress', { at: seconds })]),
    })
  assert.equal((await send(1)).status, 200)
  const other = await beginTransaction(t)
  await other.query('delete from videos where id = $1', [videoId])
  const late = send(2)
  await waitForLock()
  await other.query('commit')
  assertProblem(await late, 404, 'resource-not-found', 'session[video_id]')
  // The session is still in the cache.
  assertProblem(await send(3), 404, 'resource-not-found', 'session[video_id]')
  const rows = await query(
    service.database,
    'select at from viewing_events join viewing_sessions on id = session_id where media_id = $1',
    [videoId],
  )
  assert.deepEqual(rows, [{ at: 1 }], 'only the report before the deletion is stored')
})

test('the deletion of sessions succeeds after a deadlock with a report', async (t) => {
  const videoId = await createViewableVideo(service)
  const [first, last] = ['ps0g00first', 'ps0g00last']
  const lock = 'select 1 from viewing_sessions where id = $1 for update'
  const db = openTables(t)
  await waitFor(async () => {
    await insertSessions(service.database, [
      { id: first, media_id: videoId, loaded_at: ago(5_000) },
      { id: last, media_id: videoId, loaded_at: ago(4_000) },
    ])
    const other = await beginTransaction(t)
    // Makes Postgres abort the deletion, which it checks once, after a wait of a second. A busy machine may be too late
    // for that, and Postgres aborts this transaction instead.
    await other.query("set local deadlock_timeout = '5s'")
    await other.query(lock, [last])
    const deleted = deleteSessions(db, { mediaId: videoId })
    await waitForLock()
    const error = await other.query(lock, [first]).then(
      () => undefined,
      (error) => error,
    )
    await other.query('commit')
    assert.equal(await deleted, 2)
    assert.ok(error === undefined || error.code === '40P01', error)
    return error === undefined
  })
})

test('the queue of waiting reports is limited by bytes', async (t) => {
  const videoId = await createViewableVideo(service)
  const now = () => new Date()
  const writer = createSessionWriter({
    db: openTables(t),
    log: createLog('silent', false),
    secret: Buffer.from('x'),
    now,
  })
  const { event, report } = viewing(videoId)
  const submit = (bytes: number) => {
    const sender = { ipAddress: '192.0.2.1', userAgent: 'a', country: undefined, bytes }
    return writer.submit(readReport(report([event(0, 'ready')]) as Loose, sender))
  }
  const MiB = 1_024 * 1_024
  const [one, other] = [submit(40 * MiB), submit(24 * MiB)]
  await assert.rejects(submit(1), (error) => error instanceof ApiError && error.status === 503)
  assert.equal(await one, await other)
  assert.equal(await submit(64 * MiB), await one)
})

test('a query that has begun can read a partition that is about to be dropped', async (t) => {
  const db = openDb<Tables>(openPool(service.database, () => {}))
  t.after(() => db.destroy())
  await query(service.database, 'select make_viewing_partitions($1)', [day(-20)])
  const reader = new pg.Client(service.database)
  await reader.connect()
  try {
    await reader.query('begin; lock table only viewing_sessions in access share mode')
    let dropped: Promise<void> | undefined
    let isOver = true
    // The drop has succeeded, or given up.
    const drop = () =>
      db
        .transaction()
        .execute((trx) => dropPartition(trx, partition(-20)))
        .catch((error) => assert.ok(isLockUnavailable(error), error))
        .finally(() => {
          isOver = true
        })
    const waiting = "select from pg_locks where not granted and relation = 'viewing_sessions'::regclass"
    await waitFor(async () => {
      // A busy machine may look when the drop has given up already.
      if (isOver) {
        await dropped
        isOver = false
        dropped = drop()
        dropped.catch(() => {})
      }
      return (await query(service.database, waiting)).length > 0
    })
    await reader.query(`lock table ${partition(-20)} in access share mode nowait`)
    await reader.query('commit')
    await dropped
  } finally {
    await reader.end()
  }
})

test('an old partition that is locked by a reader does not block the removal of others', async (t) => {
  for (const offset of [-40, -39])
    await query(service.database, 'select make_viewing_partitions($1)', [day(offset)])
  const listPartitions = async () =>
    (
      await query(service.database, 'select relname from pg_class where relname = any($1) order by relname', [
        [-40, -39].flatMap((offset) => [partition(offset), partition(offset, 'events')]),
      ])
    ).map(({ relname }) => relname)
  const context = { db: openTables(t), log: createLog('silent', false), now: () => new Date() }
  const update = () => updatePartitions({ ...context, config: { analyticsDays: 30 } })
  const reader = await beginTransaction(t)
  await reader.query(`select 1 from ${partition(-40)}`)
  await update()
  assert.deepEqual(await listPartitions(), [partition(-40)])
  await reader.query('commit')
  await update()
  assert.deepEqual(await listPartitions(), [])
})

// This test must be the last one, because it kills the shared service.
test('after kill -9, every acknowledged report is stored exactly once', async (t) => {
  const videoId = await createViewableVideo(service)
  const acknowledged: { session: string; at: number }[] = []
  const collect = (url: string, body: unknown) =>
    fetch(`${url}/collector/vod`, { method: 'POST', body: JSON.stringify(body) })
  let isKilled = false
  const viewer = async (number: number) => {
    const { event, report } = viewing(videoId, 52_000 - number * 100)
    for (let at = 0; !isKilled; at++) {
      const response = await collect(
        service.url,
        report([event(at / 10, 'progress', { at: at / 10 })]),
      ).catch(() => undefined)
      if (!response?.ok) return
      acknowledged.push({ session: ((await response.json()) as { session: string }).session, at: at / 10 })
    }
  }
  const viewers = Array.from({ length: 20 }, (_, i) => viewer(i))
  await waitFor(() => acknowledged.length > 300)
  await service.kill()
  isKilled = true
  await Promise.all(viewers)
  const rows = await query(
    service.database,
    "select session_id || ' ' || at as event, count(*)::int as n from viewing_events group by 1",
  )
  const counts = new Map(rows.map((row) => [row.event, row.n]))
  for (const { session, at } of acknowledged)
    assert.equal(counts.get(`${session} ${at}`), 1, `${session} at ${at}`)

  await insertOldData(service.database)
  const startAgain = () =>
    startKinora({
      KINORA_DATABASE_URL: service.database,
      KINORA_DATA_DIR: service.data,
      KINORA_LOG_LEVEL: 'warn',
      KINORA_ANALYTICS_DAYS: '3',
    })
  let again = await startAgain()
  t.after(() => again.stop())
  await t.test('a report that is sent again to another process belongs to the same session', async () => {
    const sent = viewing(await createViewableVideo({ ...service, url: again.url }), 60_000)
    const repeated = sent.report([sent.event(0, 'ready', { at: 0 }), sent.event(1, 'play', { at: 0 })])
    const ids = new Set<string>()
    for (let i = 0; i < 3; i++) {
      const response = await collect(again.url, repeated)
      assert.equal(response.status, 200)
      ids.add(((await response.json()) as { session: string }).session)
    }
    assert.equal(ids.size, 1)
  })
  await t.test(
    'old partitions and sessions are removed, and the partitions of the next days are created',
    () =>
      assertExpired(service.database, async () => {
        if (!again.output().includes('old partition is in use')) return
        await again.stop()
        again = await startAgain()
      }),
  )
})

/** Partitions of other days, and one session of each environment that is 25 hours old. */
async function insertOldData(database: string): Promise<void> {
  for (const offset of [-10, -4, -3, -2])
    await query(database, 'select make_viewing_partitions($1)', [day(offset)])
  for (const offset of [1, 2])
    await query(database, `drop table ${partition(offset)}, ${partition(offset, 'events')}`)
  await query(
    database,
    `insert into viewing_sessions select (jsonb_populate_record(null::viewing_sessions, s.s || jsonb_build_object(
       'id', 'ps0g00' || rpad(e, 19, '0'), 'environment', e, 'media_id', 'old', 'loaded_at', now() - interval '25 hours'))).*
     from (select to_jsonb(s) as s from viewing_sessions s limit 1) s, unnest(array['sandbox', 'production']) e`,
  )
  await query(
    database,
    `insert into viewing_sessions select (jsonb_populate_record(null::viewing_sessions, s.s || jsonb_build_object(
       'id', 'ps0f00' || rpad(n::text, 19, '0'), 'environment', 'production', 'media_id', 'past', 'plays', n,
       'loaded_at', $1::timestamptz))).*
     from (select to_jsonb(s) as s from viewing_sessions s limit 1) s, generate_series(3, 4) n`,
    [`${day(-10)}T12:00:00Z`],
  )
}

/** A partition that was in use at the start of the service is dropped ten minutes later, or after a restart. */
async function assertExpired(database: string, restartIfInUse: () => Promise<void>): Promise<void> {
  const outdated = [-10, -4].flatMap((offset) => [partition(offset), partition(offset, 'events')])
  let partitions: string[] = []
  let old: string[] = []
  const isDone = async () => {
    const tables = await query(database, "select relname from pg_class where relname ~ '^viewing_.*_2\\d+$'")
    partitions = tables.map(({ relname }) => relname)
    // They would be in use by the next query.
    if (partitions.some((name) => outdated.includes(name))) {
      await restartIfInUse()
      return false
    }
    const sessions = await query(database, "select environment from viewing_sessions where media_id = 'old'")
    old = sessions.map(({ environment }) => environment)
    return partitions.includes(partition(2)) && old.length === 1
  }
  await waitFor(isDone, () => `${partitions} ${old}`)
  assert.deepEqual(old, ['production'])
  for (const offset of [-3, 0, 1, 2])
    for (const kind of ['sessions', 'events'])
      assert.ok(partitions.includes(partition(offset, kind)), partition(offset, kind))
  const past = await query(database, "select plays::int from past_plays where media_id = 'past'")
  assert.deepEqual(past, [{ plays: 7 }], 'the plays of removed sessions are no longer counted')
}
