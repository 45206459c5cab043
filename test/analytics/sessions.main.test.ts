import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import pg from 'pg'
import { launchBrowser, servePages, skip } from '../support/browser/browser.ts'
import {
  type ApiResponse,
  assertProblem,
  call,
  callRaw,
  query,
  root,
  sandboxKey,
  sharedKinora,
  waitFor,
} from '../support/harness.ts'
import { createViewableVideo, type Event, iso, type Loose, viewing } from '../support/viewings.ts'

const service = sharedKinora({
  KINORA_RESTORE_DAYS: '0',
  KINORA_COUNTRY_HEADER: 'X-Country',
  KINORA_TRUST_PROXY: '127.0.0.1',
})

let longestDelayMs = 0

/** Sends a report as a page does, without a key and as text. */
async function send(report: Loose, headers: Record<string, string> = {}, path = 'vod'): Promise<ApiResponse> {
  const response = await call(`${service.url}/collector/${path}`, {
    method: 'POST',
    key: '',
    headers: { 'content-type': 'text/plain;charset=UTF-8', ...headers },
    body: typeof report === 'string' ? report : JSON.stringify(report),
  })
  const sentAt = report.sat ?? Date.parse(report.emitted_at)
  longestDelayMs = Math.max(longestDelayMs, Date.now() - sentAt || 0)
  return response
}

/** Starts a failed test again if a report took 5 seconds, which the service takes for a wrong clock. */
const testInTime = (name: string, run: () => Promise<void>) =>
  test(name, async () => {
    for (;;) {
      longestDelayMs = 0
      try {
        return await run()
      } catch (error) {
        if (longestDelayMs < 5_000) throw error
      }
    }
  })

async function sessionIdOf(response: Promise<ApiResponse>): Promise<string> {
  const { status, text, body } = await response
  assert.equal(status, 200, text)
  assert.match(body.session, /^ps[0-9a-z]{23}$/)
  return body.session
}

const sessionsOf = async (videoId: string, search = '') =>
  (await call(`${service.url}/analytics/videos/${videoId}${search}`)).body

const eventsOf = async (sessionId: string) =>
  (await call(`${service.url}/analytics/sessions/${sessionId}/events?pageSize=100`)).body

describe('reports', () => {
  testInTime('the reports of one playback form one session, with watch data and viewer', async () => {
    const videoId = await createViewableVideo(service)
    const startedAt = Date.now()
    const { event, report } = viewing(videoId, 30_000, {
      referrer: 'https://shop.example/page?x=1',
      metadata: [{ viewer: 'v1' }],
    })
    const headers = {
      'x-country': 'fr',
      'user-agent':
        'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36',
    }
    const session = await sessionIdOf(send(report([event(1, 'ready', { at: 0 })]), headers))
    const watched = [
      event(2, 'play', { at: 0 }),
      event(12, 'progress', { at: 10 }),
      event(13, 'seek.forward', { from: 11, to: 50 }),
      event(23, 'progress', { at: 60 }),
    ]
    await sessionIdOf(send(report(watched, { session_id: session }), headers))
    await sessionIdOf(send(report([event(28, 'pause', { at: 65 })], { session_id: session }), headers))

    const { data, pagination } = await sessionsOf(videoId)
    assert.equal(pagination.itemsTotal, 1)
    const [found] = data
    assert.equal(found.session.sessionId, session)
    assert.deepEqual(found.session.metadata, [{ key: 'viewer', value: 'v1' }])
    const loadedAgoMs = startedAt - Date.parse(found.session.loadedAt)
    assert.ok(loadedAgoMs > 20_000 && loadedAgoMs < 40_000, String(loadedAgoMs))
    assert.deepEqual(found.location, { country: 'FR', city: null })
    assert.equal(found.referrer.url, 'https://shop.example/page?x=1')
    assert.deepEqual([found.referrer.medium, found.referrer.source], ['referral', 'shop.example'])
    assert.deepEqual([found.device.type, found.os.name, found.client.name], ['computer', 'Windows', 'Chrome'])
    assert.deepEqual(found.watch.ranges, [
      { from: 0, to: 11 },
      { from: 50, to: 65 },
    ])
    assert.equal(found.watch.seconds, 26)
    assert.equal(found.watch.plays, 1)
    assert.equal(found.watch.completion, 0.26)

    const events = await eventsOf(session)
    assert.deepEqual(
      events.data.map(({ type, at, from, to }: Event) => [type, at, from, to]),
      [
        ['ready', 0, undefined, undefined],
        ['play', 0, undefined, undefined],
        ['progress', 10, undefined, undefined],
        ['seek.forward', undefined, 11, 50],
        ['progress', 60, undefined, undefined],
        ['pause', 65, undefined, undefined],
      ],
    )
    assert.equal(events.pagination.itemsTotal, 6)
    const [row] = await query(service.database, 'select * from viewing_sessions where id = $1', [session])
    assert.equal(row.ready_ms, 1_000)
    assert.equal(row.continent, 'EU')
    assert.doesNotMatch(JSON.stringify(row), /127\.0\.0\.1/, 'an IP address is stored')
  })

  testInTime('an error that a player reports is an event of its session', async () => {
    const videoId = await createViewableVideo(service)
    const { event, report } = viewing(videoId)
    const events = [event(1, 'play', { at: 0 }), event(5, 'error', { at: 4 }), event(9, 'pause', { at: 8 })]
    const session = await sessionIdOf(send(report(events)))
    const { data } = await eventsOf(session)
    assert.deepEqual(
      data.map(({ type, at }: Event) => [type, at]),
      [
        ['play', 0],
        ['error', 4],
        ['pause', 8],
      ],
    )
    assert.equal((await sessionsOf(videoId)).data[0].watch.seconds, 8)
  })

  testInTime('the second report format uses numeric event types and an id from the client', async () => {
    const videoId = await createViewableVideo(service)
    const start = Date.now() - 20_000
    const report = (pid: string, eve: unknown[]) => ({
      sat: Date.now(),
      sid: 'a-tab',
      mid: videoId,
      pid,
      ref: 'https://a.example/',
      ver: '2.0.0',
      eve,
    })
    const eve = (seconds: number, typ: number, vti: number, pau = false) => ({
      eat: start + seconds * 1_000,
      typ,
      vti,
      vwi: 640,
      vhe: 360,
      pau,
      eco: 0,
    })
    const first = await sessionIdOf(
      send(report('p1', [eve(0, 1, 0, true), eve(1, 2, 0), eve(5, 4, 4)]), {}, 'watch'),
    )
    const more = report('p1', [eve(9, 4, 8), eve(9.1, 7, 40), eve(14, 4, 45), eve(14.1, 6, 45, true)])
    assert.equal(await sessionIdOf(send(more, {}, 'watch')), first)
    assert.equal(
      await sessionIdOf(send(more, {}, 'watch')),
      first,
      'a repeated report belongs to another session',
    )
    assert.notEqual(await sessionIdOf(send(report('p2', [eve(16, 2, 0)]), {}, 'watch')), first)
    const found = (await sessionsOf(videoId)).data.find(
      (one: { session: { sessionId: string } }) => one.session.sessionId === first,
    )
    assert.deepEqual(found.watch.ranges, [
      { from: 0, to: 8 },
      { from: 40, to: 45 },
    ])
    assert.equal(found.watch.seconds, 13)
    const { data } = await eventsOf(first)
    assert.deepEqual(
      data.map(({ type }: Event) => type),
      ['ready', 'play', 'progress', 'progress', 'seek.forward', 'progress', 'end'],
    )
  })

  testInTime('repeated and reordered reports are counted once, including the first', async () => {
    const videoId = await createViewableVideo(service)
    const { event, report } = viewing(videoId)
    const beginning = [
      event(0, 'ready', { at: 0 }),
      event(1, 'play', { at: 0 }),
      event(2, 'progress', { at: 1 }),
    ]
    const first = report(beginning)
    const ids = await Promise.all(Array.from({ length: 5 }, () => sessionIdOf(send(first))))
    assert.equal(new Set(ids).size, 1, 'there are several sessions')
    const [session_id] = ids
    const last = report([event(11, 'end', { at: 10 })], { session_id })
    for (let i = 0; i < 3; i++) await sessionIdOf(send(last))
    await sessionIdOf(send(report([event(6, 'progress', { at: 5 })], { session_id })))
    const { data } = await sessionsOf(videoId)
    assert.equal(data.length, 1)
    assert.equal(data[0].watch.seconds, 10)
    assert.equal(data[0].watch.plays, 1)
    const events = (await eventsOf(session_id!)).data
    assert.deepEqual(
      events.map(({ type }: Event) => type),
      ['ready', 'play', 'progress', 'progress', 'end'],
    )
  })

  testInTime('two tabs are two sessions; reloading a tab adds a play to its session', async () => {
    const videoId = await createViewableVideo(service)
    const tabs = [viewing(videoId, 30_000), viewing(videoId, 29_999)]
    const ids: string[] = []
    for (const { event, report } of tabs)
      ids.push(await sessionIdOf(send(report([event(0, 'ready', { at: 0 }), event(1, 'play', { at: 0 })]))))
    assert.notEqual(ids[0], ids[1])
    const again = viewing(videoId, 10_000)
    const events = [again.event(0, 'ready', { at: 0 }), again.event(1, 'play', { at: 0 })]
    assert.equal(await sessionIdOf(send(again.report(events, { session_id: ids[0] }))), ids[0])
    const { data } = await sessionsOf(videoId)
    const plays = Object.fromEntries(
      data.map((one: { session: { sessionId: string }; watch: { plays: number } }) => [
        one.session.sessionId,
        one.watch.plays,
      ]),
    )
    assert.deepEqual(plays, { [ids[0]!]: 2, [ids[1]!]: 1 })
  })

  test('a report with an unknown or foreign session id starts a new session', async () => {
    const [one, other] = [await createViewableVideo(service), await createViewableVideo(service)]
    const foreign = viewing(one)
    const session = await sessionIdOf(send(foreign.report([foreign.event(0, 'ready')])))
    const { event, report } = viewing(other)
    for (const session_id of [
      session,
      `${session.slice(0, -1)}!`,
      'ps',
      "ps' or 1=1",
      `ps0001${session.slice(6)}`,
    ]) {
      const assigned = await sessionIdOf(send(report([event(1, 'play', { at: 0 })], { session_id })))
      assert.notEqual(assigned, session)
      assert.notEqual(assigned, session_id)
    }
    assert.equal((await eventsOf(session)).data.length, 1, 'an event was added to the foreign session')
    assert.equal(
      (await sessionsOf(other)).pagination.itemsTotal,
      1,
      'the reports of one playback have several sessions',
    )
  })

  test('false reports are limited by elapsed time, the duration of the video and the clock', async () => {
    const videoId = await createViewableVideo(service)
    const { event, report } = viewing(videoId, 20_000)
    const falseEvents = [
      event(0, 'play', { at: -50 }),
      event(5, 'progress', { at: 1e9 }),
      event(6, 'seek.backward', { from: 1e300, to: -1 }),
      ...Array.from({ length: 50 }, (_, i) =>
        event(7 + i / 100, i % 2 ? 'progress' : 'play', { at: i % 2 ? 100 : 0 }),
      ),
      event(-1e7, 'pause', { at: 3 }),
      event(1e8, 'progress', { at: null }),
    ]
    const body = JSON.stringify(report(falseEvents)).replace('-50', '1e999')
    const session = await sessionIdOf(send(body))
    const { data } = await sessionsOf(videoId)
    assert.ok(data[0].watch.seconds <= 4 * 25, String(data[0].watch.seconds))
    const events = (await eventsOf(session)).data as (Event & { emittedAt: string })[]
    for (const { emittedAt, at, from, to } of events) {
      const ageMs = Date.now() - Date.parse(emittedAt)
      assert.ok(ageMs > -70_000 && ageMs < 90_000, emittedAt)
      for (const position of [at, from, to]) assert.ok(position == null || (position >= 0 && position <= 100))
    }
  })

  test('the published analytics library (v1) works in a browser on a page of another origin', {
    skip,
  }, async (t) => {
    const videoId = await createViewableVideo(service)
    const library = await readFile(join(root, 'node_modules/@api.video/player-analytics/dist/index.js'))
    const pages = await servePages((request, response) => {
      if (request.url === '/library.js') return response.end(library)
      response
        .setHeader('content-type', 'text/html')
        .end('<!doctype html><script src="/library.js"></script>')
    })
    t.after(() => pages.close())
    const browser = await launchBrowser()
    t.after(() => browser?.close())
    const page = await browser!.newPage()
    await page.goto(pages.url)
    // The library reports real time, so the script plays for 1.1 seconds.
    const playback = `(async () => {
      const sessionId = new Promise((resolve) => { window.onSessionId = resolve })
      const analytics = new PlayerAnalytics({
        pingUrl: '${service.url}/collector/vod', videoId: '${videoId}', videoType: 'vod',
        metadata: { viewer: 'from the page', undeclared: 'x' }, onSessionIdReceived: window.onSessionId,
      })
      await analytics.ready()
      await analytics.play()
      await new Promise((resolve) => setTimeout(resolve, 1_100))
      await analytics.updateTime(1)
      await analytics.pause()
      await analytics.resume()
      await analytics.seek(1, 20)
      await analytics.updateTime(20)
      await analytics.end()
      await analytics.destroy()
      return sessionId
    })()`
    const session = (await page.evaluate(playback)) as string
    const { data } = await sessionsOf(videoId)
    assert.equal(data.length, 1)
    assert.equal(data[0].session.sessionId, session)
    assert.deepEqual(data[0].session.metadata, [{ key: 'viewer', value: 'from the page' }])
    assert.deepEqual(data[0].watch.ranges, [{ from: 0, to: 1 }])
    assert.equal(data[0].device.type, 'computer')
    assert.match(data[0].client.name, /Chrom/)
    assert.deepEqual(
      (await eventsOf(session)).data.map(({ type }: Event) => type),
      ['ready', 'play', 'pause', 'resume', 'seek.forward', 'end', 'pause'],
    )
    // A reload keeps the session of the tab.
    await page.reload()
    assert.equal(await page.evaluate(playback), session)
    assert.equal((await sessionsOf(videoId)).data[0].watch.plays, 2)
  })
})

describe('metadata', () => {
  test('only declared keys are stored, as text, and a later report may add one', async () => {
    const videoId = await createViewableVideo(service)
    const { event, report } = viewing(videoId)
    const markup = '<script>alert(1)</script>'
    const given = [
      { viewer: markup },
      { undeclared: 'x', author: 'Eve', __proto__: 'x', constructor: 'y' },
      JSON.parse('{"__proto__": "z"}'),
    ]
    const session_id = await sessionIdOf(send(report([event(0, 'ready')], { metadata: given })))
    await sessionIdOf(
      send(report([], { session_id, metadata: [{ course: 'maths' }, { viewer: 'another' }] })),
    )
    const { data } = await sessionsOf(videoId)
    assert.deepEqual(data[0].session.metadata, [
      { key: 'course', value: 'maths' },
      { key: 'viewer', value: markup },
    ])
  })

  test('a value that is too long or not valid text is omitted', async () => {
    const videoId = await createViewableVideo(service)
    for (const [i, value] of ['x'.repeat(2_001), 'a\0b', '\ud800'].entries()) {
      const { event, report } = viewing(videoId, 20_000 - i * 1_000)
      const session_id = await sessionIdOf(
        send(report([event(0, 'ready')], { metadata: [{ viewer: value }] })),
      )
      const { data } = await sessionsOf(videoId)
      const found = data.find(
        (one: { session: { sessionId: string } }) => one.session.sessionId === session_id,
      )
      assert.deepEqual(found.session.metadata, [])
    }
  })
})

describe('reads', () => {
  const tagged = async (videoId: string, agoMs: number, values: Record<string, string>) => {
    const { event, report } = viewing(videoId, agoMs, { metadata: [values] })
    return sessionIdOf(send(report([event(0, 'ready')])))
  }

  test('sessions can be filtered by metadata and period, and paged', async () => {
    const videoId = await createViewableVideo(service)
    const a = await tagged(videoId, 5_000, { viewer: 'a', course: 'one' })
    const b = await tagged(videoId, 4_000, { viewer: 'b', course: 'one' })
    await tagged(videoId, 3_000, { viewer: 'a', course: 'two' })
    const ids = async (search: string) =>
      (await sessionsOf(videoId, search)).data.map(
        (one: { session: { sessionId: string } }) => one.session.sessionId,
      )
    assert.equal((await ids('')).length, 3)
    assert.deepEqual(await ids('?metadata[viewer]=b'), [b])
    assert.deepEqual(await ids('?metadata[viewer]=a&metadata[course]=one'), [a])
    assert.deepEqual(await ids('?metadata[viewer]=c'), [])
    assert.deepEqual(await ids('?metadata[undeclared]=a'), [])
    const page = await sessionsOf(videoId, '?metadata[course]=one&pageSize=1&currentPage=2')
    assert.deepEqual([page.pagination.itemsTotal, page.pagination.pagesTotal, page.data.length], [2, 2, 1])
    assert.ok(page.pagination.links[0].uri.includes('metadata%5Bcourse%5D=one'))

    const day = iso(Date.now()).slice(0, 10)
    // Midnight may have passed since the sessions were loaded.
    const near = `${iso(Date.now() - 60_000).slice(0, 10)}/${day}`
    assert.equal((await ids(`?period=${near}`)).length, 3)
    for (const period of ['2018', '2018-01', '2018-W01', '2018-01-02', '2018-01-01/2018-12-31'])
      assert.deepEqual(await ids(`?period=${period}`), [], period)
  })

  test('an error names the invalid parameter', async () => {
    const videoId = await createViewableVideo(service)
    const get = (path: string) => call(`${service.url}/analytics/${path}`)
    for (const period of ['tomorrow', '2026-02-30', '2026-01-02/2026-01-01', ''])
      assertProblem(
        await get(`videos/${videoId}?period=${period}`),
        400,
        'request-invalid-query-parameter',
        'period',
      )
    assertProblem(
      await get(`videos/${videoId}?metadata=x`),
      400,
      'request-invalid-query-parameter',
      'metadata',
    )
    assertProblem(
      await get(`videos/${videoId}?pageSize=0`),
      400,
      'request-invalid-query-parameter',
      'pageSize',
    )
    assertProblem(await get('videos/vi0000000000000000000000'), 404, 'resource-not-found', 'videoId')
    assertProblem(
      await get('live-streams/li0000000000000000000000'),
      404,
      'resource-not-found',
      'liveStreamId',
    )
    for (const id of ['ps', 'ps0g0z0000000000000000000', '%27'])
      assertProblem(await get(`sessions/${id}/events`), 404, 'resource-not-found', 'sessionId')
    assert.equal((await call(`${service.url}/analytics/videos/${videoId}`, { key: '' })).status, 401)
  })

  test('all analytics reads share one concurrency limit and one queue', async (t) => {
    const videoId = await createViewableVideo(service)
    const other = new pg.Client(service.database)
    await other.connect()
    t.after(() => other.end())
    const paths = [
      ...[`analytics/videos/${videoId}`, 'data/metrics/play/count', 'analytics/metadata'],
      'analytics/videos/plays?dimension=country',
    ]
    let rejected: ApiResponse[]
    do {
      await other.query('begin; lock table viewing_sessions in access exclusive mode')
      // Four reads run, a hundred wait, and one is rejected.
      const responses = Array.from({ length: 105 }, (_, i) =>
        call(`${service.url}/${paths[i % paths.length]}`),
      )
      assertProblem(await Promise.race(responses), 503, 'service-unavailable')
      await other.query('commit')
      rejected = (await Promise.all(responses)).filter(({ status }) => status !== 200)
      // On a busy machine the lock may outlast the time limits of the reads.
    } while (rejected.length > 1)
    assert.equal(rejected.length, 1)
  })

  test('environments are separate, and deleting a video deletes its sessions', async () => {
    const [ours, theirs] = [
      await createViewableVideo(service),
      await createViewableVideo(service, sandboxKey),
    ]
    const [mine, other] = [
      await tagged(ours, 5_000, { viewer: 'x' }),
      await tagged(theirs, 5_000, { viewer: 'x' }),
    ]
    const sandbox = (path: string) => call(`${service.url}/sandbox/analytics/${path}`, { key: sandboxKey })
    assert.equal((await sandbox(`videos/${theirs}`)).body.data[0].session.sessionId, other)
    assert.equal((await sandbox(`sessions/${other}/events`)).body.data.length, 1)
    assert.equal((await sandbox(`videos/${ours}`)).status, 404)
    assert.equal((await sandbox(`sessions/${mine}/events`)).status, 404)
    const deleted = await call(`${service.url}/analytics/sessions?metadata[viewer]=x`, { method: 'DELETE' })
    assert.deepEqual([deleted.status, deleted.body], [200, { deleted: 1 }])
    assert.equal((await sandbox(`videos/${theirs}`)).body.data.length, 1, 'the sandbox session was deleted')

    await call(`${service.url}/sandbox/videos/${theirs}`, { method: 'DELETE', key: sandboxKey })
    assert.equal((await sandbox(`sessions/${other}/events`)).status, 404)
    await waitFor(async () => {
      const [{ n }] = await query(
        service.database,
        `select (select count(*) from viewing_sessions where media_id = $1)
              + (select count(*) from viewing_events where session_id = $2) as n`,
        [theirs, other],
      )
      return Number(n) === 0
    })
  })

  test('deleting a viewer deletes all sessions and events of that viewer only', async () => {
    const [one, other] = [await createViewableVideo(service), await createViewableVideo(service)]
    const gone = [
      await tagged(one, 5_000, { viewer: 'ann', course: 'a' }),
      await tagged(other, 5_000, { viewer: 'ann', course: 'b' }),
    ]
    const kept = await tagged(one, 4_000, { viewer: 'bob', course: 'a' })
    const deleteSessions = (search: string) =>
      call(`${service.url}/analytics/sessions${search}`, { method: 'DELETE' })
    assertProblem(await deleteSessions(''), 400, 'attribute-required', 'metadata')
    assertProblem(await deleteSessions('?metadata=ann'), 400, 'request-invalid-query-parameter', 'metadata')
    assert.deepEqual((await deleteSessions('?metadata[viewer]=ann&metadata[course]=c')).body, { deleted: 0 })
    assert.deepEqual((await deleteSessions('?metadata[viewer]=ann')).body, { deleted: 2 })
    const rows = await query(
      service.database,
      'select id from viewing_sessions where id = any($1) union all select session_id from viewing_events where session_id = any($1)',
      [[...gone, kept]],
    )
    assert.deepEqual(new Set(rows.map(({ id }) => id)), new Set([kept]))
  })
})

describe('invalid reports', () => {
  test('an invalid report is rejected with the name of the attribute and not counted', async () => {
    const videoId = await createViewableVideo(service)
    const { event, report } = viewing(videoId)
    const good = report([event(0, 'ready')])
    const sendChanged = (change: (body: typeof good) => void) => {
      const body = structuredClone(good)
      change(body)
      return send(body)
    }
    assertProblem(await send('{'), 400, 'invalid-payload')
    assertProblem(await send(''), 400, 'invalid-payload')
    assertProblem(await send('[]'), 400, 'invalid-payload')
    const cases: [string, (body: Loose) => void][] = [
      ['session', (body) => delete body.session],
      ['session[video_id]', (body) => delete body.session.video_id],
      ['session[loaded_at]', (body) => Object.assign(body.session, { loaded_at: 'yesterday' })],
      ['session[metadata]', (body) => Object.assign(body.session, { metadata: { viewer: 'x' } })],
      ['session[metadata][0][viewer]', (body) => Object.assign(body.session, { metadata: [{ viewer: 5 }] })],
      [
        'session[metadata][0]',
        (body) => {
          const keys = Array.from({ length: 11 }, (_, i) => [`key ${i}`, ''])
          Object.assign(body.session, { metadata: [Object.fromEntries(keys)] })
        },
      ],
      [
        'session[metadata][0]',
        (body) => Object.assign(body.session, { metadata: [{ ['x'.repeat(256)]: '' }] }),
      ],
      ['session[metadata]', (body) => Object.assign(body.session, { metadata: Array(101).fill({}) })],
      ['session[referrer]', (body) => Object.assign(body.session, { referrer: 5 })],
      ['emitted_at', (body) => Object.assign(body, { emitted_at: 5 })],
      ['events', (body) => Object.assign(body, { events: Array(201).fill(event(0, 'ready')) })],
      ['events[0][type]', (body) => Object.assign(body.events[0], { type: 'dance' })],
      ['events[0][emitted_at]', (body) => Object.assign(body.events[0], { emitted_at: '' })],
      ['events[0][at]', (body) => Object.assign(body.events[0], { at: 'x' })],
    ]
    for (const [name, change] of cases) {
      const response = await sendChanged(change)
      assert.equal(response.status, 400, `${name}: ${response.text}`)
      assert.equal(response.body.name, name, response.text)
    }
    const huge = report([], { metadata: [{ viewer: 'x'.repeat(65_536) }] })
    const rejected = await callRaw(service.url, '/collector/vod', {
      method: 'POST',
      body: JSON.stringify(huge),
    })
    assertProblem(rejected, 413, 'payload-too-large')
    assert.equal(
      (await send({ sat: 1, sid: 'a', mid: videoId, pid: 'b', eve: [{ eat: 1, typ: 9 }] }, {}, 'watch')).body
        .name,
      'eve[0][typ]',
    )
    assert.equal((await sessionsOf(videoId)).pagination.itemsTotal, 0)
  })

  test('reports for unknown ids are rejected', async () => {
    const { event, report } = viewing('vi0000000000000000000000')
    const body = report([event(0, 'ready')])
    assertProblem(await send(body), 404, 'resource-not-found', 'session[video_id]')
    const live = {
      ...body,
      session: { loaded_at: body.session.loaded_at, live_stream_id: 'li0000000000000000000000' },
    }
    assertProblem(await send(live, {}, 'live'), 404, 'resource-not-found', 'session[live_stream_id]')
    const watch = { sat: Date.now(), sid: 'a', mid: 'vi0000000000000000000000', pid: 'b', eve: [] }
    assertProblem(await send(watch, {}, 'watch'), 404, 'resource-not-found', 'mid')
    const rows = await query(service.database, "select 1 from viewing_sessions where media_id ~ '0000000000'")
    assert.equal(rows.length, 0)
  })

  test('pages of any origin may send reports, also with a preflight request', async () => {
    const preflight = await callRaw(service.url, '/collector/vod', {
      method: 'OPTIONS',
      headers: {
        origin: 'https://a.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type',
      },
    })
    assert.equal(preflight.status, 204)
    assert.equal(preflight.headers.get('access-control-allow-origin'), '*')
    const response = await send('{', { origin: 'https://a.example' })
    assert.equal(response.headers.get('access-control-allow-origin'), '*')
  })

  test('an IP address that sends too many reports gets 429; others do not', async () => {
    const { event, report } = viewing('vi0000000000000000000000')
    // The maximum cost of one report.
    const body = JSON.stringify(report(Array(200).fill(event(0, 'ready'))))
    const from = (ipAddress: string) => send(body, { 'x-forwarded-for': ipAddress })
    let rejected: ApiResponse | undefined
    for (let i = 0; i < 200 && !rejected; i++) {
      const responses = await Promise.all(Array.from({ length: 20 }, () => from('192.0.2.7')))
      rejected = responses.find(({ status }) => status === 429)
    }
    assertProblem(rejected!, 429, 'too-many-requests')
    assert.ok(Number(rejected!.headers.get('retry-after')) >= 1)
    assert.equal((await from('192.0.2.8')).status, 404)
  })

  test('a long body counts as several reports, regardless of its content', async () => {
    const sendLong = (ipAddress: string) => send(`{}${' '.repeat(64_000)}`, { 'x-forwarded-for': ipAddress })
    let sent = 0
    for (let isRejected = false; !isRejected; sent += 20) {
      assert.ok(sent < 400, String(sent))
      const responses = await Promise.all(Array.from({ length: 20 }, () => sendLong('192.0.2.9')))
      isRejected = responses.some(({ status }) => status === 429)
    }
    assert.equal((await sendLong('192.0.2.10')).status, 400)
  })
})
