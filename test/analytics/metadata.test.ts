import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { listKeys } from '../../server/analytics/metadata-store.ts'
import { assertProblem, call, query, sandboxKey, sharedKinora } from '../support/harness.ts'
import { withDb } from '../support/record-events.ts'
import { ago, clearSessions, day, hour, insertSessions, type Session } from '../support/session-rows.ts'
import { createViewableVideo, viewing } from '../support/viewings.ts'

// Analytics by the metadata of viewers: how much each viewer watched, and which parts.

const service = sharedKinora({ KINORA_ANALYTICS_DAYS: '90' })
const insert = (...sessions: Session[]) => insertSessions(service.database, sessions)

async function get(path: string) {
  const response = await call(service.url + path)
  assert.equal(response.status, 200, `${path} ${response.text}`)
  return response.body
}

type Value = { value: string; sessions: number; plays: number; completion: number | null }
const valuesOf = async (path: string) =>
  (await get(path)).data.map(({ value }: Value) => value).join(' ') as string

beforeEach(() => clearSessions(service.database))

describe('values of a key', () => {
  const at = ago(2 * hour)
  const seen = ago(hour)
  beforeEach(() =>
    insert(
      {
        metadata: { user: 'ada', class: '1a' },
        plays: 2,
        watch_seconds: 30,
        parts: '{[0,50)}',
        loaded_at: at,
      },
      {
        metadata: { user: 'ada', class: '1a' },
        plays: 1,
        watch_seconds: 15.5,
        parts: '{[0,10),[90,100)}',
        seen_at: seen,
      },
      { metadata: { user: 'ada' } },
      {
        metadata: { user: 'bob', class: '1a' },
        plays: 1,
        watch_seconds: 60,
        parts: '{[0,100)}',
        media_id: 'viOther',
      },
      {
        metadata: { user: 'eve', class: '1b' },
        plays: 1,
        watch_seconds: 1,
        media_type: 'live-stream',
        media_id: 'liOne',
      },
      { metadata: { class: '1b' }, plays: 7, watch_seconds: 99 },
      { plays: 50, watch_seconds: 50 },
      { metadata: { user: 'zoe' }, plays: 9, environment: 'sandbox' },
    ),
  )

  test('each value has the right plays, watch time and completion', async () => {
    const { data, pagination } = await get('/analytics/metadata/user')
    assert.equal(pagination.itemsTotal, 3)
    const [ada, bob, eve] = data
    assert.deepEqual(
      { ...ada, lastSeenAt: '' },
      // Two of three sessions were played, with 50 % and 20 % of the video.
      {
        value: 'ada',
        sessions: 3,
        plays: 3,
        watchTime: 45.5,
        averageWatchTime: 22.75,
        completion: 0.35,
        lastSeenAt: '',
      },
    )
    assert.match(ada.lastSeenAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/)
    assert.deepEqual([bob.value, bob.completion, bob.averageWatchTime], ['bob', 1, 60])
    // A live stream has no duration and therefore no completion.
    assert.deepEqual([eve.value, eve.completion, eve.watchTime], ['eve', null, 1])
    const { data: classes } = await get('/analytics/metadata/class')
    assert.deepEqual(
      classes.map(({ value, sessions, plays }: Value) => [value, sessions, plays]),
      [
        ['1b', 2, 8],
        ['1a', 3, 4],
      ],
    )
  })

  test('values can be sorted and paged, and page links keep the query', async () => {
    assert.equal(await valuesOf('/analytics/metadata/user?sortBy=sessions'), 'ada bob eve')
    assert.equal(await valuesOf('/analytics/metadata/user?sortBy=plays&sortOrder=asc'), 'bob eve ada')
    assert.equal(await valuesOf('/analytics/metadata/user?sortBy=watchTime'), 'bob ada eve')
    assert.equal(await valuesOf('/analytics/metadata/user?sortBy=watchTime&sortOrder=asc'), 'eve ada bob')
    assert.equal(await valuesOf('/analytics/metadata/user?sortBy=completion'), 'bob ada eve')
    assert.equal(await valuesOf('/analytics/metadata/user?sortBy=completion&sortOrder=asc'), 'ada bob eve')
    const first = await get('/analytics/metadata/user?pageSize=1&metadata[class]=1a&sortBy=watchTime')
    assert.deepEqual([first.data[0].value, first.pagination.itemsTotal], ['bob', 2])
    const { uri } = first.pagination.links.find(({ rel }: { rel: string }) => rel === 'next')
    assert.equal(await valuesOf(uri), 'ada', uri)
    const past = await get('/analytics/metadata/user?currentPage=9')
    assert.deepEqual([past.data, past.pagination.itemsTotal], [[], 3])
  })

  test('values can be filtered by video, other metadata, value, period and environment', async () => {
    assert.equal(await valuesOf('/analytics/metadata/user?videoId=viOther'), 'bob')
    assert.equal(await valuesOf('/analytics/metadata/user?metadata[class]=1a'), 'ada bob')
    assert.equal(await valuesOf('/analytics/metadata/user?metadata[class]=1a&metadata[user]=bob'), 'bob')
    assert.equal(await valuesOf('/analytics/metadata/user?value=eve'), 'eve')
    assert.equal(await valuesOf('/analytics/metadata/user?value=eve&metadata[class]=1a'), '')
    assert.equal(await valuesOf(`/analytics/metadata/user?to=${ago(90 * 60_000).toISOString()}`), 'ada')
    assert.equal(await valuesOf('/analytics/metadata/color'), '')
    assert.equal(await valuesOf('/analytics/metadata/user?videoId=viNone'), '')
    const sandbox = await call(`${service.url}/sandbox/analytics/metadata/user`, { key: sandboxKey })
    assert.deepEqual(
      sandbox.body.data.map(({ value }: Value) => value),
      ['zoe'],
    )
  })

  test('the list of keys counts sessions and values', async () => {
    const { data } = await get('/analytics/metadata')
    assert.deepEqual(data, [
      { key: 'class', sessions: 5, values: 2 },
      { key: 'user', sessions: 5, values: 3 },
    ])
    assert.deepEqual((await get('/analytics/metadata?videoId=liOne&pageSize=1')).pagination.itemsTotal, 2)
    assert.equal((await get('/analytics/metadata')).countedFrom, null)
  })

  test('the list of keys counts the newest sessions and tells since when', async () => {
    await insert({ metadata: { old: 'yes' }, loaded_at: ago(day) })
    const all = { environment: 'production', period: { from: ago(2 * day), to: ago(-hour) } } as const
    const page = { currentPage: 1, pageSize: 25, offset: 0 }
    await withDb(service.database, async (trx) => {
      const newest = await listKeys(trx, all, page, 6)
      assert.deepEqual(
        newest.keys.map(({ key, sessions }) => `${key} ${sessions}`),
        ['class 5', 'user 5'],
      )
      assert.equal(newest.countedFrom?.getTime(), at.getTime())
      const every = await listKeys(trx, all, page, 8)
      assert.equal(every.keys.length, 3)
      assert.equal(every.countedFrom, null)
    })
  })

  test('keys and values may contain any characters', async () => {
    const key = 'a/b ?&=%é'
    await insert({ metadata: { [key]: '<b>"\'\\ ü' }, plays: 1 }, { metadata: { [key]: '' }, plays: 2 })
    const path = `/analytics/metadata/${encodeURIComponent(key)}`
    assert.deepEqual(
      (await get(path)).data.map(({ value }: Value) => value),
      ['', '<b>"\'\\ ü'],
    )
    const { data, pagination } = await get(`${path}?value=&pageSize=1`)
    assert.deepEqual([data.length, data[0].plays], [1, 2])
    assert.equal((await get(pagination.links[0].uri)).data.length, 1)
  })

  test('the default period is the last 30 days, and an older start includes older sessions', async () => {
    await insert({ metadata: { old: 'yes' }, plays: 1, loaded_at: ago(40 * day) })
    assert.equal(await valuesOf('/analytics/metadata/old'), '')
    assert.equal(await valuesOf(`/analytics/metadata/old?from=${ago(50 * day).toISOString()}`), 'yes')
  })
})

describe('retention', () => {
  let videoId = ''
  const seconds = 40
  beforeEach(async () => {
    const created = await call(`${service.url}/videos`, { method: 'POST', json: {} })
    videoId = created.body.id
    const plan = { frames: seconds * 25, rate: { num: 25, den: 1 } }
    await query(
      service.database,
      `insert into encodings (video_id, environment, state, plan, created_at)
       values ($1, 'production', 'encoded', $2, now())`,
      [videoId, JSON.stringify(plan)],
    )
  })
  const played = (parts: string, metadata: Record<string, string> = {}): Session => ({
    media_id: videoId,
    plays: 1,
    parts,
    metadata,
  })

  test('the curve has 100 points with the right viewers', async () => {
    await insert(
      played('{[0,100)}'),
      played('{[0,50)}'),
      played('{[0,10),[90,100)}'),
      played('{}'),
      { media_id: videoId },
      { media_id: 'viOther', plays: 1, parts: '{[0,100)}' },
    )
    const { sessions, curve, values, ...rest } = await get(`/analytics/videos/${videoId}/retention`)
    assert.equal(rest.videoId, videoId)
    assert.equal(sessions, 4)
    assert.equal(values, undefined)
    assert.equal(curve.length, 100)
    assert.deepEqual(curve[0], { from: 0, to: 0.4, share: 0.75, viewers: 3 })
    assert.deepEqual(curve[9], { from: 3.6, to: 4, share: 0.75, viewers: 3 })
    assert.deepEqual(curve[10], { from: 4, to: 4.4, share: 0.5, viewers: 2 })
    assert.deepEqual(curve[50], { from: 20, to: 20.4, share: 0.25, viewers: 1 })
    assert.deepEqual(curve[99], { from: 39.6, to: 40, share: 0.5, viewers: 2 })
  })

  test('the ten most frequent values of a key have a curve each', async () => {
    for (let n = 1; n <= 12; n++) {
      await insert(
        ...Array.from({ length: n }, () => played(`{[0,${n})}`, { group: `g${n}`, side: `${n % 2}` })),
      )
    }
    await insert(played('{[0,100)}'))
    const all = await get(`/analytics/videos/${videoId}/retention?by=group`)
    assert.equal(all.sessions, 79)
    assert.deepEqual(
      all.values.map(({ value, sessions }: Value) => `${value} ${sessions}`),
      [12, 11, 10, 9, 8, 7, 6, 5, 4, 3].map((n) => `g${n} ${n}`),
    )
    for (const { value, sessions, curve } of all.values) {
      const watched = curve.map(({ viewers }: { viewers: number }) => viewers)
      const n = Number(value.slice(1))
      assert.deepEqual(
        watched,
        Array.from({ length: 100 }, (_, i) => (i < n ? sessions : 0)),
      )
    }
    const odd = await get(`/analytics/videos/${videoId}/retention?by=group&metadata[side]=1`)
    assert.equal(odd.sessions, 36)
    assert.deepEqual(
      odd.values.map(({ value }: Value) => value),
      ['g11', 'g9', 'g7', 'g5', 'g3', 'g1'],
    )
    const none = await get(`/analytics/videos/${videoId}/retention?by=color`)
    assert.deepEqual(none.values, [])
  })

  test('the curve of random sessions equals a count of each hundredth', async () => {
    // A fixed seed gives the same sessions in every run.
    let seed = 7
    const random = (below: number) => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
      return Math.floor((seed / 2 ** 32) * below)
    }
    const seen = Array.from({ length: 300 }, () => new Set<number>())
    const sessions = seen.map((set) => {
      for (let n = random(6); n > 0; n--) {
        const from = random(100)
        for (let i = from; i <= Math.min(99, from + random(40)); i++) set.add(i)
      }
      const parts = [...set].sort((a, b) => a - b).map((i) => `[${i},${i + 1})`)
      return played(`{${parts.join(',')}}`, { team: `${set.size % 3}` })
    })
    await insert(...sessions)
    const { curve, values } = await get(`/analytics/videos/${videoId}/retention?by=team`)
    const count = (sets: Set<number>[]) =>
      Array.from({ length: 100 }, (_, i) => sets.filter((set) => set.has(i)).length)
    const viewers = (points: { viewers: number }[]) => points.map((point) => point.viewers)
    assert.deepEqual(viewers(curve), count(seen))
    assert.equal(values.length, 3)
    for (const { value, curve: part, sessions: all } of values) {
      const sets = seen.filter((set) => `${set.size % 3}` === value)
      assert.equal(all, sets.length)
      assert.deepEqual(viewers(part), count(sets))
    }
    const { data } = await get('/analytics/metadata/team')
    for (const { value, completion } of data) {
      const sets = seen.filter((set) => `${set.size % 3}` === value)
      const expected = sets.reduce((sum, set) => sum + set.size, 0) / sets.length / 100
      assert.ok(Math.abs(completion - expected) < 0.0001, value)
    }
  })

  test('the curve of a video without plays is flat, and the curve of a video without a duration is empty', async () => {
    const { sessions, curve } = await get(`/analytics/videos/${videoId}/retention`)
    assert.deepEqual([sessions, curve.length, curve[50].viewers, curve[50].share], [0, 100, 0, 0])
    await query(service.database, 'delete from encodings where video_id = $1', [videoId])
    assert.deepEqual((await get(`/analytics/videos/${videoId}/retention?by=x`)).curve, [])
  })

  test('unknown videos and videos of the other environment return 404', async () => {
    for (const path of [
      '/analytics/videos/viNone/retention',
      '/analytics/videos/vi0000000000000000000000/retention',
    ]) {
      assertProblem(await call(service.url + path), 404, 'resource-not-found', 'videoId')
    }
    const other = await call(`${service.url}/sandbox/analytics/videos/${videoId}/retention`, {
      key: sandboxKey,
    })
    assertProblem(other, 404, 'resource-not-found', 'videoId')
  })
})

test('analytics include the reports of a player immediately', async () => {
  const videoId = await createViewableVideo(service)
  const { event, report } = viewing(videoId, 30_000)
  const events = [
    event(0, 'ready'),
    event(1, 'play', { at: 0 }),
    event(11, 'progress', { at: 10 }),
    event(21, 'pause', { at: 20 }),
  ]
  const sent = report(events, { metadata: [{ viewer: 'ada' }] })
  const response = await call(`${service.url}/collector/vod`, { method: 'POST', key: '', json: sent })
  assert.equal(response.status, 200, response.text)
  assert.equal((await get('/data/metrics/play/count')).data, 1)
  assert.equal((await get('/data/metrics/view/count?viewDuration=10s')).data, 1)
  const [row] = (await get(`/analytics/metadata/viewer?videoId=${videoId}`)).data
  assert.deepEqual([row.value, row.plays, row.watchTime, row.completion], ['ada', 1, 20, 0.2])
  const { sessions, curve } = await get(`/analytics/videos/${videoId}/retention?metadata[viewer]=ada`)
  assert.equal(sessions, 1)
  assert.deepEqual([curve[19].viewers, curve[20].viewers], [1, 0])
})

test('the sessions of a viewer are those of all videos and live streams, newest first', async () => {
  const [video, other] = [await createViewableVideo(service), await createViewableVideo(service)]
  const [foreign] = [await createViewableVideo(service, sandboxKey)]
  const live = await call(`${service.url}/live-streams`, { method: 'POST', json: { name: 'News' } })
  const liveStreamId = live.body.liveStreamId
  const metadata = { viewer: 'ada', course: 'a' }
  await insert(
    { id: 'psOld', media_id: video, loaded_at: ago(40 * day), metadata },
    {
      id: 'psOne',
      media_id: video,
      loaded_at: ago(3 * hour),
      metadata,
      plays: 1,
      watch_seconds: 7,
      watched: '{[0,5)}',
      parts: '{[0,50)}',
    },
    { id: 'psTwo', media_id: liveStreamId, media_type: 'live-stream', loaded_at: ago(2 * hour), metadata },
    { id: 'psThree', media_id: other, loaded_at: ago(hour), metadata: { viewer: 'ada' } },
    { id: 'psBob', media_id: video, metadata: { viewer: 'bob' } },
    { id: 'psNone', media_id: video },
    { id: 'psForeign', media_id: foreign, environment: 'sandbox', metadata },
    { id: 'psGone', media_id: 'viDeleted', metadata },
  )
  type Item = { session: { sessionId: string }; media: object }
  const idsOf = (body: { data: Item[] }) =>
    body.data.map(({ session }) => session.sessionId.slice(2)).join(' ')
  const path = '/analytics/sessions?metadata[viewer]=ada'
  const all = await get(path)
  assert.equal(idsOf(all), 'Three Two One')
  assert.equal(all.pagination.itemsTotal, 3)
  assert.deepEqual(all.data[1].media, { id: liveStreamId, type: 'live-stream', title: 'News' })
  const { media, ...session } = all.data[2]
  assert.deepEqual([media.id, media.type], [video, 'video'])
  const [same] = (await get(`/analytics/videos/${video}?metadata[course]=a`)).data
  assert.deepEqual(session, same)
  assert.deepEqual(session.watch.ranges, [{ from: 0, to: 5 }])

  assert.equal(idsOf(await get(`${path}&metadata[course]=a`)), 'Two One')
  assert.equal(idsOf(await get(`${path}&from=${ago(50 * day).toISOString()}`)), 'Three Two One Old')
  assert.equal(idsOf(await get(`${path}&to=${ago(90 * 60_000).toISOString()}`)), 'Two One')
  const second = await get(`${path}&pageSize=1&currentPage=2`)
  assert.equal(idsOf(second), 'Two')
  const next = second.pagination.links.find(({ rel }: { rel: string }) => rel === 'next').uri
  assert.equal(idsOf(await get(next)), 'One')
  assert.deepEqual((await get(`${path}&currentPage=9`)).pagination.itemsTotal, 3)
  const sandbox = await call(`${service.url}/sandbox${path}`, { key: sandboxKey })
  assert.equal(idsOf(sandbox.body), 'Foreign')

  // Without metadata: everybody, and also sessions without metadata.
  const latest = await get('/analytics/sessions?pageSize=3')
  assert.deepEqual(idsOf(latest).split(' ').sort(), ['Bob', 'None', 'Three'])
  assert.equal(latest.pagination.itemsTotal, 5)
  assert.deepEqual((await get('/analytics/sessions?pageSize=3&currentPage=2')).data[0].media, {
    id: liveStreamId,
    type: 'live-stream',
    title: 'News',
  })
})

describe('invalid queries', () => {
  const bad = 'request-invalid-query-parameter'

  test('every invalid parameter is rejected by name', async () => {
    for (const [path, slug, name] of [
      [`/analytics/metadata/${'k'.repeat(256)}`, 'invalid-attribute', 'key'],
      ['/analytics/metadata/%00', 'invalid-attribute', 'key'],
      [`/analytics/metadata/k?value=${'v'.repeat(2_001)}`, bad, 'value'],
      [`/analytics/metadata/k?metadata[${'k'.repeat(256)}]=v`, bad, 'metadata'],
      [`/analytics/metadata/k?metadata[a]=${'v'.repeat(2_001)}`, bad, 'metadata[a]'],
      ['/analytics/metadata/k?metadata[a]=1&metadata[a]=2', bad, 'metadata[a]'],
      ['/analytics/metadata/k?metadata=v', bad, 'metadata'],
      ['/analytics/metadata/k?sortBy=value', bad, 'sortBy'],
      ['/analytics/metadata/k?sortOrder=down', bad, 'sortOrder'],
      ['/analytics/metadata/k?pageSize=0', bad, 'pageSize'],
      ['/analytics/metadata/k?from=now', bad, 'from'],
      ['/analytics/metadata?from=1999-01-01', bad, 'from'],
      [`/analytics/metadata?videoId=${'v'.repeat(101)}`, bad, 'videoId'],
      ['/analytics/sessions?from=1999-01-01', bad, 'from'],
      ['/analytics/sessions?metadata=ada', bad, 'metadata'],
      ['/analytics/sessions?metadata[a]=1&from=now', bad, 'from'],
      ['/analytics/sessions?metadata[a]=1&to=1999-01-01', bad, 'to'],
    ] as const) {
      assertProblem(await call(service.url + path), 400, slug, name)
    }
  })

  test('a request without an API key returns 401', async () => {
    const response = await call(`${service.url}/analytics/metadata/k`, { key: '' })
    assertProblem(response, 401, 'authentication-missing-authorization-header')
  })
})
