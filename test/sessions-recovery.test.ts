import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { deleteSessions } from '../server/analytics/delete-sessions.ts'
import { updatePartitions } from '../server/analytics/expire.ts'
import { readReport, readWatchReport } from '../server/analytics/report.ts'
import { createSessionWriter } from '../server/analytics/session-writer.ts'
import { openDb, openPool } from '../server/lib/db.ts'
import { ApiError } from '../server/lib/errors.ts'
import { createLog } from '../server/lib/log.ts'
import type { Tables } from '../server/tables.ts'
import { assertProblem, call, query, sharedKinora, startKinora, waitFor } from './harness.ts'
import { ago, insertSessions } from './session-rows.ts'
import { createVideo, iso, type Loose, viewing } from './viewings.ts'

// Reports when processes end, work at once, or pass midnight.

const service = sharedKinora()

const day = (by: number) => iso(Date.now() + by * 86_400_000).slice(0, 10)
const partition = (by: number, kind = 'sessions') => `viewing_${kind}_${day(by).replaceAll('-', '')}`

test('a viewing goes on past midnight in its session, and not for ever', async (t) => {
  const videoId = await createVideo(service)
  const db = openDb<Tables>(openPool(service.database, () => {}))
  t.after(() => db.destroy())
  const start = Date.UTC(2030, 0, 1, 23, 59, 50)
  let now = start
  const writer = createSessionWriter({
    ...{ db, log: createLog('silent', false), secret: Buffer.from('x'), now: () => new Date(now) },
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
  assert.equal(await long({ session_id: first[1] }), later, 'which then is the one')
})

test('several processes that hear of one viewing at once count it once', async (t) => {
  const videoId = await createVideo(service)
  const dbs = [1, 2].map(() => openDb<Tables>(openPool(service.database, () => {})))
  t.after(() => Promise.all(dbs.map((db) => db.destroy())))
  const log = createLog('silent', false)
  const writers = dbs.map((db) =>
    createSessionWriter({ db, log, secret: Buffer.from('of both'), now: () => new Date() }),
  )
  const reports = Array.from({ length: 60 }, (_, i) => {
    const { event, report } = viewing(videoId, 30_000 + i * 100)
    const sender = { ipAddress: '192.0.2.1', userAgent: 'a', country: undefined, bytes: 500 }
    return [0, 1, 2, 3].map((n) =>
      readReport(report([event(1 + n, n === 0 ? 'play' : 'progress', { at: n })]) as Loose, sender),
    )
  })
  // In another order by each.
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

test('a partition that nobody has made is made on the spot', async () => {
  const videoId = await createVideo(service)
  const { event, report } = viewing(videoId, 1_000)
  for (const kind of ['sessions', 'events']) await query(service.database, `drop table ${partition(0, kind)}`)
  const body = report([event(0, 'ready')])
  const answers = await Promise.all(
    Array.from({ length: 5 }, () =>
      call(`${service.url}/collector/vod`, { method: 'POST', key: '', json: body }),
    ),
  )
  assert.deepEqual(
    answers.map(({ status }) => status),
    Array(5).fill(200),
  )
  assert.equal((await call(`${service.url}/analytics/videos/${videoId}`)).body.pagination.itemsTotal, 1)
})

const openTables = (t: TestContext) => {
  const db = openDb<Tables>(openPool(service.database, () => {}))
  t.after(() => db.destroy())
  return db
}

/** Somebody else who has begun a transaction. */
async function begin(t: TestContext): Promise<pg.Client> {
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

test('nothing is written of a video that is deleted, also when it goes in that moment', async (t) => {
  const videoId = await createVideo(service)
  const { event, report } = viewing(videoId)
  const send = (seconds: number) =>
    call(`${service.url}/collector/vod`, {
      method: 'POST',
      key: '',
      json: report([event(seconds, 'progress', { at: seconds })]),
    })
  assert.equal((await send(1)).status, 200)
  const other = await begin(t)
  await other.query('delete from videos where id = $1', [videoId])
  const late = send(2)
  await waitForLock()
  await other.query('commit')
  assertProblem(await late, 404, 'resource-not-found', 'session[video_id]')
  // While it is remembered.
  assertProblem(await send(3), 404, 'resource-not-found', 'session[video_id]')
  const rows = await query(
    service.database,
    'select at from viewing_events join viewing_sessions on id = session_id where media_id = $1',
    [videoId],
  )
  assert.deepEqual(rows, [{ at: 1 }], 'of before, for whoever removes what it leaves')
})

test('forgetting and reports that lock each other out both come through', async (t) => {
  const videoId = await createVideo(service)
  const [first, last] = ['ps0g00first', 'ps0g00last']
  await insertSessions(service.database, [
    { id: first, media_id: videoId, loaded_at: ago(5_000) },
    { id: last, media_id: videoId, loaded_at: ago(4_000) },
  ])
  const lock = 'select 1 from viewing_sessions where id = $1 for update'
  const other = await begin(t)
  // It is not the one to be ended.
  await other.query("set local deadlock_timeout = '1min'")
  await other.query(lock, [last])
  const forgotten = deleteSessions(openTables(t), { mediaId: videoId })
  await waitForLock()
  await other.query(lock, [first])
  await other.query('commit')
  assert.equal(await forgotten, 2)
})

test('what waits is bounded by its bytes', async (t) => {
  const videoId = await createVideo(service)
  const now = () => new Date()
  const writer = createSessionWriter({
    ...{ db: openTables(t), log: createLog('silent', false), secret: Buffer.from('x'), now },
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

test('an old partition that somebody reads does not keep the others', async (t) => {
  for (const by of [-40, -39]) await query(service.database, 'select make_viewing_partitions($1)', [day(by)])
  const there = async () =>
    (
      await query(service.database, 'select relname from pg_class where relname = any($1) order by relname', [
        [-40, -39].flatMap((by) => [partition(by), partition(by, 'events')]),
      ])
    ).map(({ relname }) => relname)
  const context = { db: openTables(t), log: createLog('silent', false), now: () => new Date() }
  const keep = () => updatePartitions({ ...context, config: { analyticsDays: 30 } })
  const reader = await begin(t)
  await reader.query(`select 1 from ${partition(-40)}`)
  await keep()
  assert.deepEqual(await there(), [partition(-40)])
  await reader.query('commit')
  await keep()
  assert.deepEqual(await there(), [])
})

// The last one: the service is gone after it.
test('kill -9 among reports: what was answered is there, once', async (t) => {
  const videoId = await createVideo(service)
  const sent = viewing(videoId, 60_000)
  const answered: { session: string; at: number }[] = []
  const collect = (url: string, body: unknown) =>
    fetch(`${url}/collector/vod`, { method: 'POST', body: JSON.stringify(body) })
  let isFinished = false
  const viewer = async (number: number) => {
    const { event, report } = viewing(videoId, 50_000 + number * 100)
    for (let at = 0; !isFinished; at++) {
      const response = await collect(
        service.url,
        report([event(at / 10, 'progress', { at: at / 10 })]),
      ).catch(() => undefined)
      if (!response?.ok) return
      answered.push({ session: ((await response.json()) as { session: string }).session, at: at / 10 })
    }
  }
  const viewers = Array.from({ length: 20 }, (_, i) => viewer(i))
  await waitFor(() => answered.length > 300)
  await service.kill()
  isFinished = true
  await Promise.all(viewers)
  const rows = await query(
    service.database,
    "select session_id || ' ' || at as seen, count(*)::int as n from viewing_events group by 1",
  )
  const seen = new Map(rows.map((row) => [row.seen, row.n]))
  for (const { session, at } of answered) assert.equal(seen.get(`${session} ${at}`), 1, `${session} at ${at}`)

  await prepareOld(service.database)
  const again = await startKinora({
    ...{ KINORA_DATABASE_URL: service.database, KINORA_DATA_DIR: service.data, KINORA_LOG_LEVEL: 'warn' },
    KINORA_ANALYTICS_DAYS: '3',
  })
  t.after(() => again.stop())
  await t.test('a report whose answer got lost is sent again, to another process', async () => {
    const lost = sent.report([sent.event(0, 'ready', { at: 0 }), sent.event(1, 'play', { at: 0 })])
    const ids = new Set<string>()
    for (let i = 0; i < 3; i++) {
      const response = await collect(again.url, lost)
      ids.add(((await response.json()) as { session: string }).session)
    }
    assert.equal(ids.size, 1)
  })
  await t.test('what is too old goes, and the next days are made', () => assertKept(service.database))
})

/** Partitions of other days, and a session of each environment that is 25 hours old. */
async function prepareOld(database: string): Promise<void> {
  for (const by of [-10, -4, -3, -2]) await query(database, 'select make_viewing_partitions($1)', [day(by)])
  for (const by of [1, 2]) await query(database, `drop table ${partition(by)}, ${partition(by, 'events')}`)
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

async function assertKept(database: string): Promise<void> {
  let there: string[] = []
  let old: string[] = []
  const look = async () => {
    const tables = await query(database, "select relname from pg_class where relname ~ '^viewing_.*_2\\d+$'")
    there = tables.map(({ relname }) => relname)
    const sessions = await query(database, "select environment from viewing_sessions where media_id = 'old'")
    old = sessions.map(({ environment }) => environment)
    return !there.includes(partition(-4)) && there.includes(partition(2)) && old.length === 1
  }
  await waitFor(look, () => `${there} ${old}`)
  assert.deepEqual(old, ['production'])
  for (const by of [-3, 0, 1, 2])
    for (const kind of ['sessions', 'events'])
      assert.ok(there.includes(partition(by, kind)), partition(by, kind))
  assert.ok(!there.includes(partition(-10)) && !there.includes(partition(-4, 'events')))
  const past = await query(database, "select plays::int from past_plays where media_id = 'past'")
  assert.deepEqual(past, [{ plays: 7 }], 'what was played in them is still counted')
}
