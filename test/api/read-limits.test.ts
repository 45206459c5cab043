import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import {
  assertProblem,
  call,
  callUntilAvailable,
  productionKey,
  query,
  sandboxKey,
  sharedKinora,
  waitFor,
} from '../support/harness.ts'
import { makeVideo, onDisk, pathOf } from '../support/stored-video.ts'
import { viewing } from '../support/viewings.ts'

// A lock on a table that only some requests read stands for a query that takes for ever. On a machine that stands still,
// requests may time out before the test looks at them, so the clients here ask again and again.

const service = sharedKinora({
  KINORA_RATE_LIMITS: 'off',
  KINORA_LOG_LEVEL: 'info',
  // A worker would wait for the locks, too.
  KINORA_ROLES: 'api',
})

/** Locks the table until the returned function is called, or until the end of the test. */
async function lock(t: TestContext, table: string): Promise<() => Promise<void>> {
  const client = new pg.Client(service.database)
  await client.connect()
  let isOpen = true
  const unlock = async () => {
    if (isOpen) await client.end()
    isOpen = false
  }
  t.after(unlock)
  await client.query(`begin; lock table ${table} in access exclusive mode`)
  return unlock
}

/** The names of the connections whose queries wait for a lock. */
const listBlocked = async (): Promise<string[]> => {
  const rows = await query(
    service.database,
    `select application_name as name from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows.map(({ name }) => name)
}
const isListBlocked = async () => (await listBlocked()).includes('kinora lists')
const countBlocked = async () => (await listBlocked()).length

/**
 * Sends the same request from many clients, each of which asks again after every response. `statuses` are those of the
 * responses until now.
 */
function flood(t: TestContext, clients: number, path: string, init: RequestInit = {}) {
  const stopping = new AbortController()
  const statuses = new Set<number>()
  const headers = { authorization: `Basic ${btoa(`${productionKey}:`)}`, 'content-type': 'application/json' }
  const ask = async () => {
    while (!stopping.signal.aborted)
      await fetch(service.url + path, { ...init, headers, signal: stopping.signal })
        .then((response) => {
          statuses.add(response.status)
          return response.arrayBuffer()
        })
        .catch(() => {})
  }
  const ended = Promise.all(Array.from({ length: clients }, ask))
  const stop = async () => {
    stopping.abort()
    await ended
  }
  t.after(stop)
  return { stop, statuses }
}

async function assertViewersAreServed(videoId: string): Promise<void> {
  const report = viewing(videoId).report([])
  const get = (path: string) => callUntilAvailable(service.url + path, { key: '' })
  for (const path of [`/vod/${videoId}`, `/vod/${videoId}/hls/manifest.m3u8`, pathOf(videoId, 0)])
    assert.equal((await get(path)).status, 200, path)
  const collected = await callUntilAvailable(`${service.url}/collector/vod`, {
    method: 'POST',
    key: '',
    json: report,
  })
  assert.ok(collected.status < 300, collected.text)
}

test('lists that take long delay neither viewers nor other requests, and further lists get an error', async (t) => {
  const videoId = await makeVideo(service, onDisk(service))
  const unlock = await lock(t, 'video_counts')
  const { stop } = flood(t, 110, '/videos')
  await waitFor(async () => (await countBlocked()) === 4)

  await assertViewersAreServed(videoId)
  assert.equal((await callUntilAvailable(`${service.url}/videos/${videoId}`)).status, 200)
  for (const [path, key] of [
    ['/videos', productionKey],
    ['/tags', sandboxKey],
  ] as const) {
    const refused = await call(service.url + path, { key })
    assertProblem(refused, 503, 'service-unavailable')
    assert.match(refused.body.title, /Too many lists|takes too long/)
    assert.ok(Number(refused.headers.get('retry-after')) > 0)
  }

  await stop()
  await waitFor(async () => (await countBlocked()) === 0)
  await unlock()
  assert.equal((await callUntilAvailable(`${service.url}/videos`)).body.pagination.itemsTotal, 1)
})

test('every list is limited', async (t) => {
  const videoId = await makeVideo(service, onDisk(service))
  const webhook = { url: 'https://example.com', events: ['video.source.recorded'] }
  const created = await callUntilAvailable(`${service.url}/webhooks`, { method: 'POST', json: webhook })
  assert.equal(created.status, 201, created.text)
  const { webhookId } = created.body
  for (const [table, ...paths] of [
    ['all_videos', '/videos?title=a', '/videos?search=a', '/videos?status=missing', '/discarded/videos'],
    ['video_counts', '/videos', '/tags'],
    ['live_streams', '/live-streams'],
    ['players', '/players'],
    ['watermarks', '/watermarks'],
    ['upload_tokens', '/upload-tokens'],
    ['signing_keys', '/signing-keys'],
    ['summaries', '/summaries'],
    ['events', '/events'],
    ['webhooks', '/webhooks'],
    ['deliveries', `/webhooks/${webhookId}/deliveries`],
    [
      'viewing_sessions',
      ...['/data/metrics/play/count', '/data/buckets/play/country', '/data/timeseries/play'],
      ...['/analytics/metadata', '/analytics/metadata/user', '/analytics/sessions?metadata[user]=a'],
      ...[`/analytics/videos/${videoId}`, `/analytics/videos/${videoId}/retention`],
      '/analytics/videos/plays?dimension=country',
    ],
  ]) {
    const unlock = await lock(t, table!)
    for (const path of paths) {
      const { stop, statuses } = flood(t, 1, path)
      await waitFor(
        async () => {
          // While the table is locked, a list ends only because it takes too long.
          const answered = [...statuses].filter((status) => status < 500)
          assert.deepEqual(answered, [], path)
          return isListBlocked()
        },
        () => path,
      )
      await stop()
      // Otherwise it would be mistaken for the next list.
      await waitFor(async () => !(await isListBlocked()))
    }
    await unlock()
  }
})

test('a list counts up to 5,000 items, and more as a client reads further pages', async () => {
  await query(
    service.database,
    `insert into upload_tokens (token, environment, ttl, created_at)
     select 'to' || n, 'sandbox', 0, now() from generate_series(1, 5101) n`,
  )
  const page = async (currentPage: number) => {
    const path = `/sandbox/upload-tokens?pageSize=100&currentPage=${currentPage}`
    const { body } = await callUntilAvailable(service.url + path, { key: sandboxKey })
    return [body.data.length, body.pagination.itemsTotal, body.pagination.pagesTotal]
  }
  assert.deepEqual(await page(1), [100, 5_000, 50])
  assert.deepEqual(await page(50), [100, 5_001, 51])
  assert.deepEqual(await page(52), [1, 5_101, 52])
  assert.deepEqual(await page(53), [0, 5_000, 50])
})

test('the query of a list ends when its client closes the connection', async (t) => {
  await lock(t, 'video_counts')
  const isLogged = (line: string) =>
    line.includes('/tags?value=gone') && line.includes('closed the connection before the response')
  await waitFor(async () => {
    const { stop: leave } = flood(t, 1, '/tags?value=gone')
    await waitFor(async () => (await countBlocked()) > 0)
    await leave()
    await waitFor(async () => (await countBlocked()) === 0)
    // Otherwise it has timed out just before the client left.
    return service.output().split('\n').some(isLogged)
  })
})

test('requests that wait for a row leave connections for viewers', async (t) => {
  const videoId = await makeVideo(service, onDisk(service))
  await lock(t, 'video_count_changes')
  flood(t, 30, '/videos', { method: 'POST', body: '{}' })
  await waitFor(async () => (await countBlocked()) > 4)
  await assertViewersAreServed(videoId)
  assert.equal((await callUntilAvailable(`${service.url}/events`)).status, 200)
})
