import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import {
  aggregationsOf,
  breakdowns,
  bucketMetrics,
  metrics,
  timeMetrics,
  viewDurations,
} from '../../server/analytics/data-schemas.ts'
import { assertProblem, call, sandboxKey, sharedKinora } from '../support/harness.ts'
import { client } from '../support/published-client.ts'
import {
  ago,
  clearSessions,
  day,
  hour,
  insertSessions,
  minute,
  type Session,
  second,
} from '../support/session-rows.ts'
import { createVideo } from '../support/videos.ts'

// Analytics queries of the published client.

// The tests insert sessions that are up to 60 days old.
const service = sharedKinora({ KINORA_ANALYTICS_DAYS: '90' })
const insert = (...sessions: Session[]) => insertSessions(service.database, sessions)
const analytics = () => client(service.url).analytics
const get = (path: string) => call(service.url + path)

type MetricQuery = Parameters<ReturnType<typeof analytics>['getAggregatedMetrics']>[0]
const metric = async (
  name: MetricQuery['metric'],
  aggregation: MetricQuery['aggregation'],
  rest: Partial<MetricQuery> = {},
) => (await analytics().getAggregatedMetrics({ metric: name, aggregation, ...rest })).data

type BucketQuery = Parameters<ReturnType<typeof analytics>['getMetricsBreakdown']>[0]
async function buckets(
  name: BucketQuery['metric'],
  breakdown: BucketQuery['breakdown'],
  rest: Partial<BucketQuery> = {},
) {
  const { data } = await analytics().getMetricsBreakdown({ metric: name, breakdown, ...rest })
  return data.map(({ dimensionValue, metricValue }) => `${dimensionValue} ${metricValue}`).join(', ')
}

beforeEach(() => clearSessions(service.database))

/** The values that typed clients accept in a context. They fail on any other value, but accept a missing one. */
const views = [3, 5, 10, 30].flatMap((seconds) => [`view-${seconds}`, `unique-view-${seconds}`])
// Typed clients cannot ask for watch time in buckets and time series.
const contextMetrics = [
  'watch-time',
  'watch-time-average',
  'play',
  'play-rate',
  'start',
  'end',
  'impression',
  'ccv-average',
  'ccv-peak',
]
const contextValues: Record<string, Record<string, string[]>> = {
  metrics: {
    metric: [
      ...['play', 'start', 'end', 'impression', 'impression-time', 'watch-time', 'ccv', 'unique-ccv'],
      ...views,
    ],
    aggregation: ['count', 'rate', 'total', 'average', 'sum'],
  },
  buckets: {
    metric: [...contextMetrics, 'unique-ccv-average', 'unique-ccv-peak', ...views],
    breakdown: [
      ...['media-id', 'media-type', 'continent', 'country'],
      ...['device-type', 'operating-system', 'browser'],
    ],
  },
  timeseries: {
    metric: [...contextMetrics, 'unique-ccv-average', 'unique-ccv-peak', ...views],
    interval: ['minute', 'hour', 'day'],
  },
}

describe('metrics', () => {
  test('typed clients can parse the context of every response', async () => {
    await insert({ plays: 1, first_played_at: ago(second), playing_since: ago(second), seen_at: ago(0) })
    const paths = [
      ...metrics.flatMap((name) => aggregationsOf[name].map((each) => `metrics/${name}/${each}`)),
      ...bucketMetrics
        .filter((name) => name !== 'play-total')
        .flatMap((name) => breakdowns.map((each) => `buckets/${name}/${each}`)),
      'buckets/play-total/media-id',
      ...timeMetrics.map((name) => `timeseries/${name}`),
    ]
    const variants = (path: string) => {
      const unique = [path, `${path}?unique=true`]
      if (/\/view/.test(path))
        return unique.flatMap((each, i) => [
          each,
          ...viewDurations.map((d) => `${each}${i ? '&' : '?'}viewDuration=${d}`),
        ])
      return /\/ccv/.test(path) ? unique : [path]
    }
    for (const path of paths.flatMap(variants)) {
      const { status, body, text } = await get(`/data/${path}`)
      assert.equal(status, 200, text)
      const [kind = ''] = path.split('/')
      const { timeframe, ...words } = body.context
      for (const [name, word] of Object.entries(words))
        assert.ok(contextValues[kind]?.[name]?.includes(word as string), `${path}: ${name} ${word}`)
      assert.ok(words.metric, path)
      for (const time of Object.values(timeframe)) assert.ok(Date.parse(time as string) > 0, path)
      for (const value of kind === 'metrics'
        ? [body.data]
        : body.data.map((each: { metricValue: number }) => each.metricValue))
        assert.equal(typeof value, 'number', path)
    }
  })

  test('every aggregation of every metric returns the right value', async () => {
    await insert(
      { loaded_at: ago(3 * hour), ready_ms: 100 },
      { loaded_at: ago(2 * hour), ready_ms: 300, plays: 1, ends: 1, watch_seconds: 30 },
      { loaded_at: ago(hour), plays: 3, ends: 2, watch_seconds: 4.5 },
      { loaded_at: ago(hour), plays: 1, watch_seconds: 9, viewer: 'ada' },
      { loaded_at: ago(hour), plays: 1, watch_seconds: 9, viewer: 'ada' },
    )
    for (const [name, aggregation, expected] of [
      ['play', 'count', 6],
      ['play', 'sum', 6],
      ['play', 'rate', 6 / 5],
      ['play', 'total', 6],
      ['start', 'count', 4],
      ['end', 'count', 3],
      ['impression', 'count', 5],
      ['impression-time', 'sum', 400],
      ['impression-time', 'average', 200],
      ['watch-time', 'sum', 52.5],
      ['watch-time', 'average', 52.5 / 4],
      ['view', 'count', 3],
    ] as const) {
      assert.equal(await metric(name, aggregation), expected, `${name} ${aggregation}`)
    }
    assert.equal(await metric('view', 'count', { viewDuration: '3s' }), 4)
    assert.equal(await metric('view', 'count', { viewDuration: '10s' }), 1)
    assert.equal(await metric('view', 'count', { viewDuration: '30s' }), 1)
    assert.equal(await metric('view', 'count', { unique: true }), 2)
    assert.equal(await metric('view', 'count', { unique: false }), 3)
  })

  test('the context of the response describes the query', async () => {
    const from = new Date('2026-01-01T00:00:00Z')
    const recent = ago(2 * day)
    const response = await analytics().getAggregatedMetrics({
      metric: 'view',
      aggregation: 'count',
      unique: true,
      viewDuration: '10s',
      from: recent,
    })
    assert.equal(response.context.metric, 'unique-view-10')
    assert.equal(response.context.aggregation, 'count')
    // The client truncates milliseconds.
    assert.equal(response.context.timeframe?.from?.getTime(), Math.floor(recent.getTime() / 1000) * 1000)
    assert.ok(Math.abs(response.context.timeframe!.to!.getTime() - Date.now()) < minute)
    const total = await get(`/data/metrics/play/total?from=${from.toISOString()}`)
    assert.deepEqual(total.body, {
      context: { metric: 'play', aggregation: 'total', timeframe: {} },
      data: 0,
    })
    assert.equal((await get('/data/metrics/view/count')).body.context.metric, 'view-5')
    assert.equal((await get('/data/metrics/ccv/peak?unique=true')).body.context.metric, 'unique-ccv')
    assert.equal(
      (await get('/data/buckets/ccv-peak/country?unique=true')).body.context.metric,
      'unique-ccv-peak',
    )
  })

  test('the default period is the last day, the end of a period is exclusive, and total plays ignore the period', async () => {
    const edge = new Date(Math.floor(ago(5 * day).getTime() / 1000) * 1000)
    await insert(
      { plays: 1, loaded_at: ago(day - minute) },
      { plays: 1, loaded_at: ago(day + minute) },
      { plays: 1, loaded_at: edge },
      { plays: 1, loaded_at: ago(29 * day) },
      { plays: 1, loaded_at: ago(60 * day) },
    )
    assert.equal(await metric('play', 'count'), 1)
    assert.equal(await metric('play', 'count', { from: ago(2 * day) }), 2)
    assert.equal(await metric('play', 'count', { from: edge, to: ago(4 * day) }), 1)
    assert.equal(await metric('play', 'count', { from: ago(6 * day), to: edge }), 0)
    assert.equal(await metric('play', 'count', { to: new Date(edge.getTime() + hour) }), 1)
    assert.equal(await metric('play', 'count', { from: ago(30 * day) }), 4)
    assert.equal(await metric('play', 'total'), 5)
    assert.equal(await buckets('play-total', 'media-id'), 'viVideo 5')
  })

  test('concurrent viewers are the viewers who watch at the same moment', async () => {
    // A whole second, because the client truncates milliseconds.
    const base = Math.floor(ago(10 * hour).getTime() / second) * second
    const at = (minutes: number) => new Date(base + minutes * minute)
    const watched = (from: number, to: number, rest: Session = {}): Session => ({
      loaded_at: at(from - 1),
      first_played_at: at(from),
      seen_at: at(to),
      plays: 1,
      ...rest,
    })
    await insert(
      watched(0, 10, { viewer: 'a', country: 'FR' }),
      watched(5, 15, { viewer: 'b', country: 'FR' }),
      watched(8, 9, { viewer: 'a', country: 'DE' }),
      watched(20, 30, { viewer: 'c', country: 'DE' }),
      { loaded_at: at(8), seen_at: at(9) },
      // Starts before the period that begins at minute -850, and overlaps its beginning.
      watched(-900, -840, { viewer: 'd' }),
    )
    assert.equal(await metric('ccv', 'peak'), 3)
    assert.equal(await metric('ccv', 'peak', { unique: true }), 2)
    assert.equal(await metric('ccv', 'peak', { from: at(11), to: at(19) }), 1)
    assert.equal(await metric('ccv', 'peak', { from: at(16), to: at(19) }), 0)
    assert.equal(await metric('ccv', 'peak', { from: at(-850), to: at(-800) }), 1)
    // Three sessions of 10, 10 and 1 of 20 minutes. The viewer of the last one is also in the first.
    const period = { from: at(0), to: at(20) }
    assert.equal(await metric('ccv', 'average', period), 21 / 20)
    assert.equal(await metric('ccv', 'average', { ...period, unique: true }), 20 / 20)
    assert.equal(await buckets('ccv-peak', 'country'), 'FR 2, DE 1')
    assert.equal(
      await buckets('ccv-average', 'country', { ...period, filterBy: { country: ['FR'] } }),
      'FR 1',
    )
  })

  test('live viewers are the viewers whose last report, at most 20 seconds ago, was playing', async () => {
    const playing = { plays: 1, loaded_at: ago(hour), playing_since: ago(5 * second) }
    // Recent for long enough, even on a busy machine.
    const recent = ago(-minute)
    await insert(
      { ...playing, seen_at: recent, viewer: 'a' },
      { ...playing, seen_at: recent, viewer: 'a', media_type: 'live-stream', media_id: 'liOne' },
      { ...playing, seen_at: ago(minute) },
      { plays: 1, loaded_at: ago(hour), seen_at: recent },
    )
    assert.equal(await metric('ccv', 'live'), 2)
    assert.equal(await metric('ccv', 'live', { unique: true }), 1)
    assert.equal(await metric('ccv', 'live', { filterBy: { mediaType: 'live-stream' } }), 1)
  })
})

describe('filters', () => {
  test('every filter selects the matching sessions, in every query syntax of the clients', async () => {
    const [tagged, other] = [
      await createVideo(service, { tags: ['a b', 'c'] }),
      await createVideo(service, { tags: ['A b'] }),
    ]
    await insert(
      {
        media_id: tagged,
        plays: 1,
        continent: 'EU',
        country: 'FR',
        device_type: 'computer',
        os_name: 'macOS',
        browser_name: 'Firefox',
        referrer: 'https://a.example/p?q=1&r=é',
      },
      {
        media_id: other,
        plays: 10,
        continent: 'NA',
        country: 'CA',
        device_type: 'phone',
        os_name: 'Android',
        browser_name: 'Chrome',
      },
      { media_id: 'liStream', media_type: 'live-stream', plays: 100, browser_name: 'Microsoft Edge' },
    )
    for (const [filterBy, expected] of [
      [{}, 111],
      [{ mediaId: [tagged] }, 1],
      [{ mediaId: [tagged, 'liStream', 'viNone'] }, 101],
      [{ mediaType: 'video' }, 11],
      [{ mediaType: 'live-stream' }, 100],
      [{ continent: ['EU'] }, 1],
      [{ continent: ['EU', 'NA'] }, 11],
      [{ country: ['fr', 'CA'] }, 11],
      [{ country: ['unknown'] }, 100],
      [{ deviceType: ['phone'] }, 10],
      [{ deviceType: ['unknown'] }, 100],
      [{ operatingSystem: ['mac osx'] }, 1],
      [{ operatingSystem: ['Android'] }, 10],
      [{ browser: ['firefox', 'edge'] }, 101],
      [{ tag: 'a b' }, 1],
      [{ tag: 'A b' }, 10],
      [{ tag: 'none' }, 0],
      [{ referrer: ['https://a.example/p?q=1&r=é'] }, 1],
      [{ referrer: [''] }, 110],
      [{ country: ['FR'], browser: ['chrome'] }, 0],
      [{ country: ['FR'], browser: ['firefox'], mediaType: 'video', tag: 'c' }, 1],
    ] as const) {
      const rest = { filterBy: filterBy as never }
      assert.equal(await metric('play', 'count', rest), expected, JSON.stringify(filterBy))
    }
    for (const [search, expected] of [
      ['filterBy[country]=FR', 1],
      ['filterBy[country][]=FR&filterBy[country][]=CA', 11],
      ['filterBy[country][0]=FR&filterBy[country][1]=CA', 11],
      ['filterBy[country]=FR&filterBy[country]=CA', 11],
      ['filterBy%5Bcountry%5D%5B%5D=FR', 1],
      ['filterBy[country][][0]=FR', 1],
      ['filterBy[referrer]=', 110],
      ['filterBy[tag][0]=a+b', 1],
      ['unique=false&unknown=1', 111],
    ] as const) {
      const response = await get(`/data/metrics/play/count?${search}`)
      assert.equal(response.body.data, expected, `${search} ${response.text}`)
    }
    assert.equal(await metric('play', 'total', { filterBy: { mediaId: [tagged] } }), 1)
    assert.equal(await metric('play', 'total', { filterBy: { mediaType: 'live-stream' } }), 100)
  })

  test('each environment counts its own sessions', async () => {
    await insert(
      { plays: 1, media_id: 'viProduction' },
      { plays: 2, environment: 'sandbox', media_id: 'viSandbox' },
    )
    const { analytics: sandbox } = client(`${service.url}/sandbox`, sandboxKey)
    assert.equal(await metric('play', 'count'), 1)
    assert.equal(await metric('play', 'total'), 1)
    const { data } = await sandbox.getAggregatedMetrics({ metric: 'play', aggregation: 'count' })
    assert.equal(data, 2)
    const bucketed = await sandbox.getMetricsBreakdown({ metric: 'play', breakdown: 'media-id' })
    assert.deepEqual(
      bucketed.data.map(({ dimensionValue }) => dimensionValue),
      ['viSandbox'],
    )
    const filterBy = { mediaId: ['viProduction'] }
    const other = await sandbox.getMetricsBreakdown({ metric: 'play', breakdown: 'media-id', filterBy })
    assert.deepEqual(other.data, [])
  })
})

describe('buckets', () => {
  test('every breakdown sorts by the highest value first', async () => {
    const known = {
      continent: 'EU',
      country: 'FR',
      device_type: 'tablet',
      os_name: 'iOS',
      browser_name: 'Microsoft Edge',
    }
    await insert(
      { ...known, media_id: 'viA', plays: 2, referrer: 'https://a.example/' },
      { media_id: 'liB', media_type: 'live-stream', plays: 1 },
      { media_id: 'viC' },
    )
    for (const [breakdown, expected] of [
      ['media-id', 'viA 2, liB 1'],
      ['media-type', 'video 2, live-stream 1'],
      ['continent', 'EU 2, unknown 1'],
      ['country', 'FR 2, unknown 1'],
      ['device-type', 'tablet 2, unknown 1'],
      ['operating-system', 'ios 2, unknown 1'],
      ['browser', 'edge 2, unknown 1'],
      ['referrer', 'https://a.example/ 2,  1'],
    ] as const) {
      assert.equal(await buckets('play', breakdown), expected, breakdown)
    }
    assert.equal(await buckets('play-rate', 'media-id'), 'viA 2, liB 1, viC 0')
    assert.equal(await buckets('impression', 'media-type'), 'video 2, live-stream 1')
    assert.equal(await buckets('start', 'media-type'), 'live-stream 1, video 1')
    assert.equal(await buckets('view', 'media-id'), '')
    assert.equal(await buckets('play-total', 'media-id', { filterBy: { mediaType: 'video' } }), 'viA 2')
  })

  test('watch time can be broken down, also by the host of the referrer', async () => {
    await insert(
      {
        media_id: 'viA',
        plays: 1,
        watch_seconds: 2,
        referrer: 'https://School.example/a?b=https://c.example',
      },
      { media_id: 'viA', plays: 1, watch_seconds: 4, referrer: 'https://school.example' },
      {
        media_id: 'viB',
        plays: 1,
        watch_seconds: 10.5,
        referrer: 'http://user:pass@b.example:8080?a@d.example',
      },
      { media_id: 'viB', watch_seconds: 0, referrer: 'no url' },
      { media_id: 'viC' },
    )
    // The published client has no such metrics and dimensions.
    type Bucket = { dimensionValue: string; metricValue: number }
    for (const [path, expected] of [
      ['watch-time/media-id', 'viB 10.5, viA 6'],
      ['watch-time-average/media-id', 'viB 10.5, viA 3'],
      ['watch-time/referrer-host', 'b.example:8080 10.5, school.example 6'],
      ['impression/referrer-host', ' 2, school.example 2, b.example:8080 1'],
    ] as const) {
      const { body } = await get(`/data/buckets/${path}`)
      const found = body.data.map((each: Bucket) => `${each.dimensionValue} ${each.metricValue}`)
      assert.equal(found.join(', '), expected, path)
    }
    const { body } = await get('/data/timeseries/watch-time?sortBy=metricValue&pageSize=1')
    assert.deepEqual([body.context.metric, body.data[0].metricValue], ['watch-time', 16.5])
  })

  test('breakdowns can be sorted and paged, and page links keep the query', async () => {
    await insert(...[3, 1, 2, 2, 5].map((plays, i) => ({ plays, media_id: `vi${i}`, country: 'FR' })))
    assert.equal(await buckets('play', 'media-id'), 'vi4 5, vi0 3, vi2 2, vi3 2, vi1 1')
    assert.equal(await buckets('play', 'media-id', { sortOrder: 'asc' }), 'vi1 1, vi2 2, vi3 2, vi0 3, vi4 5')
    const byName = { sortBy: 'dimensionValue', sortOrder: 'desc', pageSize: 2 } as const
    assert.equal(await buckets('play', 'media-id', byName), 'vi4 5, vi3 2')
    assert.equal(await buckets('play', 'media-id', { ...byName, currentPage: 3 }), 'vi0 3')
    const first = await get(
      '/data/buckets/play/media-id?pageSize=2&sortBy=dimensionValue&filterBy[country][]=FR&filterBy[country][]=DE&unique=false',
    )
    assert.equal(first.body.pagination.itemsTotal, 5)
    assert.equal(first.body.pagination.pagesTotal, 3)
    const { uri } = first.body.pagination.links.find(({ rel }: { rel: string }) => rel === 'next')
    const second = await get(uri)
    assert.deepEqual(
      second.body.data.map(({ dimensionValue }: { dimensionValue: string }) => dimensionValue),
      ['vi2', 'vi3'],
      uri,
    )
    const past = await get('/data/buckets/play/media-id?currentPage=9')
    assert.deepEqual([past.body.data, past.body.pagination.itemsTotal], [[], 5])
  })
})

describe('timeseries', () => {
  const series = async (name: string, search: string) => {
    const response = await get(`/data/timeseries/${name}?pageSize=100&${search}`)
    assert.equal(response.status, 200, response.text)
    return response.body
  }
  // Yesterday at noon, so that the periods around it contain full hours and days.
  const noon = Math.floor(ago(day).getTime() / day) * day + 12 * hour
  const at = (minutes: number) => new Date(noon + minutes * minute)
  const period = (from: number, to: number) => `from=${at(from).toISOString()}&to=${at(to).toISOString()}`

  test('every interval of the period has a value', async () => {
    await insert(
      { loaded_at: at(0), plays: 1 },
      { loaded_at: at(59), plays: 2, watch_seconds: 5, viewer: 'a', ends: 1 },
      { loaded_at: at(120), plays: 4, watch_seconds: 7, viewer: 'a' },
      { loaded_at: at(121), watch_seconds: 6, viewer: 'a' },
      { loaded_at: at(180), plays: 8 },
    )
    const iso = (minutes: number) => at(minutes).toISOString().replace('.000Z', '+00:00')
    const { context, data, pagination } = await series('play', period(0, 180))
    assert.equal(context.interval, 'hour')
    assert.deepEqual(data, [
      { emittedAt: iso(0), metricValue: 3 },
      { emittedAt: iso(60), metricValue: 0 },
      { emittedAt: iso(120), metricValue: 4 },
    ])
    assert.equal(pagination.itemsTotal, 3)
    const values = async (name: string, search: string) =>
      (await series(name, search)).data.map(({ metricValue }: { metricValue: number }) => metricValue)
    assert.deepEqual(await values('play-rate', period(0, 180)), [1.5, 0, 2])
    assert.deepEqual(await values('start', period(0, 180)), [2, 0, 1])
    assert.deepEqual(await values('end', period(0, 180)), [1, 0, 0])
    assert.deepEqual(await values('impression', period(0, 180)), [2, 0, 2])
    assert.deepEqual(await values('view', period(0, 180)), [1, 0, 2])
    assert.deepEqual(await values('view', `${period(0, 180)}&unique=true&viewDuration=3s`), [1, 0, 1])
    assert.deepEqual(await values('play', `${period(0, 181)}&sortBy=metricValue`), [8, 4, 3, 0])
    assert.deepEqual(await values('play', `${period(-12 * 60, 12 * 60)}&interval=day`), [15])
    assert.equal((await series('play', period(-3 * 24 * 60, 0))).context.interval, 'day')
    assert.equal((await values('play', period(-3 * 24 * 60, 0))).length, 4)
    const minutes = await values('play', `${period(0, 59.5)}&interval=minute`)
    assert.deepEqual([minutes.length, minutes[0], minutes[59]], [60, 1, 2])
  })

  test('every interval has its concurrent viewers', async () => {
    const watched = (from: number, to: number, viewer: string) => ({
      loaded_at: at(from),
      first_played_at: at(from),
      seen_at: at(to),
      plays: 1,
      viewer,
    })
    await insert(watched(30, 90, 'a'), watched(45, 75, 'b'), watched(100, 110, 'a'), watched(70, 80, 'a'))
    const values = async (name: string, search = '') =>
      (await series(name, `${period(0, 180)}${search}`)).data.map(
        ({ metricValue }: { metricValue: number }) => metricValue,
      )
    assert.deepEqual(await values('ccv-peak'), [2, 3, 0])
    assert.deepEqual(await values('ccv-peak', '&unique=true'), [2, 2, 0])
    // 30 + 15 minutes in the first hour; 30 + 15 + 10 + 10 in the second.
    assert.deepEqual(await values('ccv-average'), [45 / 60, 65 / 60, 0])
  })

  test('the published client parses a time series', async () => {
    await insert({ loaded_at: at(5), plays: 2 })
    const response = await analytics().getMetricsOverTime({
      metric: 'play',
      from: at(0),
      to: at(30),
      interval: 'minute',
      sortBy: 'metricValue',
      sortOrder: 'desc',
      filterBy: { mediaId: ['viVideo'], mediaType: 'video' },
      pageSize: 1,
    })
    assert.equal(response.context.interval, 'minute')
    assert.equal(response.data[0]?.metricValue, 2)
    assert.equal(new Date(response.data[0]!.emittedAt!).getTime(), at(5).getTime())
    assert.equal(response.pagination.itemsTotal, 30)
  })
})

describe('older clients', () => {
  test('the old routes return plays by dimension for videos and live streams', async () => {
    const today = Math.floor(Date.now() / day) * day
    await insert(
      { plays: 2, media_id: 'viA', country: 'FR', loaded_at: new Date(today - 2 * day) },
      { plays: 1, media_id: 'viB', country: 'FR', loaded_at: new Date(today - day) },
      { plays: 4, media_id: 'liC', media_type: 'live-stream', loaded_at: new Date(today - day) },
    )
    const date = (ms: number) => new Date(ms).toISOString().slice(0, 10)
    const from = date(today - 2 * day)
    const plays = async (path: string) => {
      const { status, body, text } = await get(path)
      assert.equal(status, 200, text)
      return body.data
        .map((item: { value: string; plays: number }) => `${item.value} ${item.plays}`)
        .join(', ')
    }
    const videos = `/analytics/videos/plays?from=${from}`
    assert.equal(await plays(`${videos}&dimension=country`), 'FR 3')
    assert.equal(await plays(`${videos}&dimension=videoId`), 'viA 2, viB 1')
    assert.equal(await plays(`${videos}&dimension=videoId&to=${date(today - day)}`), 'viA 2')
    assert.equal(await plays(`${videos}&dimension=browser&filter=videoId:viB`), 'unknown 1')
    const hours = await plays(`${videos}&dimension=emittedAt&to=${date(today - day)}`)
    assert.match(hours, new RegExp(`^${from}T00:00:00\\+00:00 2, ${from}T01:00:00\\+00:00 0, `))
    const streams = `/analytics/live-streams/plays?from=${from}`
    assert.equal(await plays(`${streams}&dimension=liveStreamId`), 'liC 4')
    assertProblem(
      await get(`${streams}&dimension=videoId`),
      400,
      'request-invalid-query-parameter',
      'dimension',
    )
    assertProblem(await get(videos), 400, 'attribute-required', 'dimension')
    const filtered = await get(`${videos}&dimension=country&filter=country:FR`)
    assertProblem(filtered, 400, 'request-invalid-query-parameter', 'filter')
  })
})

describe('invalid queries', () => {
  const long = 'x'.repeat(3_000)
  const bad = 'request-invalid-query-parameter'

  test('an invalid value is rejected by name and with a reason', async () => {
    for (const [path, name] of [
      ['/data/metrics/play/count?from=yesterday', 'from'],
      ['/data/metrics/play/count?to=', 'to'],
      ['/data/metrics/play/count?from=2020-01-01T00:00:00Z', 'from'],
      ['/data/metrics/play/count?to=2020-01-01T00:00:00Z', 'to'],
      ['/data/metrics/play/count?to=2999-01-01T00:00:00Z', 'to'],
      [`/data/metrics/play/count?from=${ago(hour).toISOString()}&to=${ago(2 * hour).toISOString()}`, 'from'],
      ['/data/metrics/view/count?unique=yes', 'unique'],
      ['/data/metrics/view/count?viewDuration=4s', 'viewDuration'],
      ['/data/metrics/play/count?filterBy=x', 'filterBy'],
      ['/data/metrics/play/count?filterBy[color]=red', 'filterBy[color]'],
      ['/data/metrics/play/count?filterBy[__proto__]=red', 'filterBy[__proto__]'],
      ['/data/metrics/play/count?filterBy[mediaType]=film', 'filterBy[mediaType]'],
      [
        '/data/metrics/play/count?filterBy[continent][]=EU&filterBy[continent][]=XX',
        'filterBy[continent][1]',
      ],
      ['/data/metrics/play/count?filterBy[tag][]=a&filterBy[tag][]=b', 'filterBy[tag]'],
      ['/data/metrics/play/count?filterBy[country]=', 'filterBy[country][0]'],
      ['/data/metrics/play/count?filterBy[browser]=%00', 'filterBy[browser][0]'],
      [`/data/metrics/play/count?filterBy[referrer]=${long}`, 'filterBy[referrer][0]'],
      ['/data/buckets/play/country?sortBy=plays', 'sortBy'],
      ['/data/buckets/play/country?sortOrder=up', 'sortOrder'],
      ['/data/buckets/play/country?pageSize=101', 'pageSize'],
      ['/data/buckets/play/country?currentPage=0', 'currentPage'],
      ['/data/timeseries/play?interval=week', 'interval'],
    ] as const) {
      const response = await get(path)
      assertProblem(response, 400, bad, name)
      assert.ok(response.body.detail.length > 5, path)
    }
  })

  test('a combination that is not allowed is rejected by name', async () => {
    for (const [path, name] of [
      ['/data/metrics/start/rate', 'aggregation'],
      ['/data/metrics/watch-time/count', 'aggregation'],
      ['/data/metrics/ccv/count', 'aggregation'],
      ['/data/metrics/play/count?unique=true', 'unique'],
      ['/data/metrics/play/count?viewDuration=5s', 'viewDuration'],
      ['/data/metrics/ccv/peak?viewDuration=5s', 'viewDuration'],
      ['/data/metrics/play/total?filterBy[country]=FR', 'filterBy[country]'],
      ['/data/buckets/play-total/country', 'breakdown'],
      ['/data/buckets/play-total/media-id?filterBy[tag]=x', 'filterBy[tag]'],
      [`/data/timeseries/play?interval=minute&from=${ago(hour).toISOString()}`, 'interval'],
    ] as const) {
      const response = await get(path)
      assertProblem(response, 400, 'invalid-attribute', name)
      assert.ok(response.body.detail.length > 5, path)
    }
  })

  test('an unknown metric or breakdown returns 404, and a request without a key 401', async () => {
    for (const path of [
      '/data/metrics/plays/count',
      '/data/metrics/play/median',
      '/data/metrics/play-rate/count',
      '/data/buckets/impression-time/country',
      '/data/buckets/play/city',
      '/data/buckets/play/mediaId',
      '/data/timeseries/play-total',
      '/data/timeseries/play/hour',
      '/data/metrics/play',
    ]) {
      assertProblem(await get(path), 404, 'unrecognized-request-url')
    }
    assertProblem(
      await call(`${service.url}/data/metrics/play/count`, { key: '' }),
      401,
      'authentication-missing-authorization-header',
    )
  })
})
