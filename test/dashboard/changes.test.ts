import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import { type Dashboard, logIn } from '../support/browser/dashboard.ts'
import {
  assertProblem,
  call,
  callRaw,
  type Kinora,
  kinora,
  MiB,
  productionKey,
  query,
  type Service,
  sandboxKey,
  sendFile,
  settingsOf,
  startKinora,
  timeoutMs,
  waitFor,
} from '../support/harness.ts'
import { createVideo } from '../support/videos.ts'

// Two processes on one database. Pages are open at the first, and most changes are made at the second.

let service: Service
let other: Kinora
const ends: (() => unknown)[] = []
before(async () => {
  const env = { KINORA_ROLES: 'api', KINORA_TRUST_PROXY: '127.0.0.1' }
  service = await kinora({ after: (end) => ends.push(end) }, env)
  other = await startKinora({ ...settingsOf(service), KINORA_ROLES: 'api' })
  ends.unshift(() => other.stop())
})
after(async () => {
  for (const end of ends) await end()
})

type Page = {
  response: IncomingMessage
  sent: ClientRequest
  /** Everything that was received. */
  text(): string
  /** The received changes, as `kind id`. */
  changes(): string[]
  isEnded(): boolean
}

type Options = { environment?: string; url?: string; headers?: Record<string, string> }

/** Opens the stream of a page, as a browser does. */
async function openPage({ cookie }: Dashboard, options: Options = {}): Promise<Page> {
  const { environment = 'production', url = service.url, headers } = options
  const sent = request(`${url}/dashboard/changes/${environment}`, {
    agent: false,
    timeout: timeoutMs,
    headers: { cookie, ...headers },
  })
  sent.on('error', () => {})
  sent.end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  let text = ''
  let isEnded = false
  response.on('data', (chunk) => {
    text += chunk
  })
  response.once('close', () => {
    isEnded = true
  })
  response.on('error', () => {})
  const changes = () =>
    [...text.matchAll(/^event: change\ndata: (.*)$/gm)].map(([, data]) => {
      const { kind, id } = JSON.parse(data!)
      return `${kind} ${id}`
    })
  return { response, sent, text: () => text, changes, isEnded: () => isEnded }
}

/** Does the work, which returns its change, and waits for that. A page that gets a `resync` instead may have missed it. */
async function expectChange(page: Page, work: () => Promise<string>): Promise<void> {
  const countResyncs = () => page.text().split('event: resync\n').length
  let [change, resyncs] = ['', 0]
  await waitFor(
    async () => {
      if (countResyncs() > resyncs) {
        resyncs = countResyncs()
        change = await work()
      }
      return page.changes().includes(change)
    },
    () => `${change} is missing in:\n${page.text()}`,
  )
}

/** The connections from the page that the service has not closed. */
async function countConnections({ sent }: Page): Promise<number> {
  const port = sent.socket!.localPort!.toString(16).toUpperCase().padStart(4, '0')
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8').catch(() => '')),
  )
  const isOpen = (line: string) => {
    const [, , remote = '', state] = line.trim().split(/\s+/)
    return remote.endsWith(`:${port}`) && state === '01'
  }
  return tables.join('').split('\n').filter(isOpen).length
}

describe('a page', () => {
  test('is told of changes at any process, in its own environment', async (t) => {
    const dashboard = await logIn(service)
    const production = await openPage(dashboard)
    const sandbox = await openPage(dashboard, { environment: 'sandbox' })
    t.after(() => [production, sandbox].map(({ sent }) => sent.destroy()))
    assert.equal(production.response.headers['content-type'], 'text/event-stream')
    assert.equal(production.response.headers['cache-control'], 'no-store')
    const create = async (path: string, json: object, key = productionKey) =>
      (await call(other.url + path, { method: 'POST', key, json })).body

    for (const [kind, json, id] of [
      ['videos', { title: 'one' }, 'videoId'],
      ['players', { name: 'theme' }, 'playerId'],
      ['live-streams', { name: 'show' }, 'liveStreamId'],
    ] as const)
      await expectChange(production, async () => `${kind} ${(await create(`/${kind}`, json))[id]}`)
    await expectChange(production, async () => {
      const json = { name: 'new' }
      const { body } = await dashboard.call('/dashboard/keys/production', { method: 'POST', json })
      return `keys ${body.keyId}`
    })

    const foreign: string[] = []
    await expectChange(sandbox, async () => {
      foreign.push((await create('/videos', { title: 'in the sandbox' }, sandboxKey)).videoId)
      return `videos ${foreign.at(-1)}`
    })
    const expected = foreign.map((id) => `videos ${id}`)
    assert.deepEqual(
      sandbox.changes().filter((change) => !change.startsWith('keys ') && !expected.includes(change)),
      [],
    )
    assert.ok(!foreign.some((id) => production.text().includes(id)))
  })

  test('loads everything again after a lost connection to Postgres, and when it reconnects', async (t) => {
    const dashboard = await logIn(service)
    const page = await openPage(dashboard)
    t.after(() => page.sent.destroy())
    assert.ok(!page.text().includes('resync'))
    await query(
      service.database,
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name like 'kinora listener%'`,
    )
    await waitFor(() => page.text().includes('event: resync\ndata: {}\n\n'))
    const again = await openPage(dashboard, { headers: { 'last-event-id': '1' } })
    t.after(() => again.sent.destroy())
    await waitFor(() => again.text().includes('event: resync\n'))
  })

  test('that does not read is disconnected', async (t) => {
    const slow = await openPage(await logIn(service))
    t.after(() => slow.sent.destroy())
    slow.response.pause()
    // Both systems buffer some megabytes first.
    const fill = (from: number) =>
      query(
        service.database,
        `select pg_notify('kinora_changes', 'videos production ' || n || repeat('x', 7000))
         from generate_series($1::int, $1 + 400) n`,
        [from],
      )
    let from = 0
    await waitFor(async () => {
      from += 1_000
      await fill(from)
      const { body } = await call(`${service.url}/healthz`, { key: '' })
      assert.equal(body.status, 'alive')
      return (await countConnections(slow)) === 0
    })
    slow.response.resume()
    await waitFor(slow.isEnded)
  })

  test('ends with its session, whichever process ends it', async () => {
    const [dashboard, second] = [await logIn(service), await logIn(service)]
    const [first, kept] = [await openPage(dashboard), await openPage(second)]
    await dashboard.call('/dashboard/logout', { method: 'POST', url: other.url })
    await waitFor(first.isEnded)
    assert.ok(!kept.isEnded())
    await second.call('/dashboard/logout-everywhere', { method: 'POST', url: other.url })
    await waitFor(kept.isEnded)
    const { cookie } = dashboard
    const response = await callRaw(service.url, '/dashboard/changes/production', { headers: { cookie } })
    assertProblem(response, 401, 'dashboard-session-required')
  })

  test('is one of at most 16 of a session', async (t) => {
    const dashboard = await logIn(service)
    const pages = await Promise.all(Array.from({ length: 16 }, () => openPage(dashboard)))
    t.after(() => pages.map(({ sent }) => sent.destroy()))
    const { cookie } = dashboard
    const ask = () => callRaw(service.url, '/dashboard/changes/production', { headers: { cookie } })
    assertProblem(await ask(), 429, 'dashboard-too-many-streams')
    const others = await openPage(await logIn(service))
    t.after(() => others.sent.destroy())
    assert.equal(others.response.statusCode, 200)
    pages.pop()!.sent.destroy()
    await waitFor(async () => {
      const page = await openPage(dashboard)
      t.after(() => page.sent.destroy())
      return page.response.statusCode === 200
    })
  })

  test('must name an environment', async () => {
    const { call } = await logIn(service)
    assertProblem(await call('/dashboard/changes/staging'), 404, 'resource-not-found', 'environment')
  })
})

describe('a change is announced', () => {
  const client = {
    query: async (_sql: string, _values?: unknown[]): Promise<pg.QueryResult> => assert.fail(),
  }
  let received: string[] = []
  before(async () => {
    const listening = new pg.Client(service.database)
    await listening.connect()
    ends.unshift(() => listening.end())
    listening.on('notification', ({ payload = '' }) => received.push(payload))
    await listening.query('listen kinora_changes')
    client.query = (sql, values) => listening.query(sql, values)
  })
  const watch = (seconds: number) =>
    client.query(`select setval('dashboard_watched_until', extract(epoch from now())::bigint + ${seconds})`)
  test('only while a page is open', async () => {
    await waitFor(async () => {
      received = []
      await watch(-1)
      await createVideo(other, { title: 'nobody watches' })
      // The pages of earlier tests may still be open, and renew it.
      const { rows } = await client.query(
        'select last_value < extract(epoch from now()) as "isOver" from dashboard_watched_until',
      )
      return rows[0].isOver
    })
    await watch(3_600)
    const videoId = await createVideo(other, { title: 'somebody watches' })
    await waitFor(() => received.includes(`videos production ${videoId}`))
    assert.deepEqual(
      received.filter((payload) => !payload.startsWith('keys ')),
      [`videos production ${videoId}`],
    )
  })

  test('for everything that the pages show', async () => {
    await watch(3_600)
    const id = await createVideo(other, { title: 'one' })
    const path = `${other.url}/videos/${id}`
    const expect = async (payload: string, work: () => Promise<unknown>) => {
      received = []
      await work()
      await waitFor(
        () => received.includes(payload),
        () => `${payload} is missing after ${work}: ${received}`,
      )
    }
    const run = (sql: string, ...values: unknown[]) => client.query(sql, values)
    const vtt = Buffer.from('WEBVTT\n\n00:00.000 --> 00:01.000\nHello')
    const film = Buffer.alloc(5 * MiB)
    const ofVideo: (() => Promise<unknown>)[] = [
      () => call(path, { method: 'PATCH', json: { title: 'two' } }),
      () => sendFile(`${path}/captions/en`, vtt),
      () => sendFile(`${path}/chapters/en`, vtt),
      () => call(`${path}/captions/en`, { method: 'DELETE' }),
      () => sendFile(`${path}/source`, film, { range: 'part 1/3' }),
      () => sendFile(`${path}/source`, film, { range: 'part 2/3' }),
      () =>
        run(`insert into encodings values ($1, 'production', 'encoding', null, null, null, null, now())`, id),
      () => run(`insert into renditions values ($1, 'hls', '240p', 240, 'waiting')`, id),
      () => run(`insert into segments values ($1, '240p', 0, '{1000}', 'key')`, id),
      () => run(`update renditions set state = 'encoded' where video_id = $1`, id),
      () => run(`update encodings set state = 'failed' where video_id = $1`, id),
      () => run('insert into pictures (video_id) values ($1)', id),
      () => run(`update pictures set thumbnail_key = 'key' where video_id = $1`, id),
      () =>
        run(
          `insert into transcripts (video_id, environment, state) values ($1, 'production', 'waiting')`,
          id,
        ),
    ]
    for (const work of ofVideo) await expect(`videos production ${id}`, work)

    await expect('system * ', () =>
      run(
        `insert into chunks (video_id, environment, track, qualities, first_segment, segments, priority, not_before)
         values ($1, 'production', 'picture', '{240p}', 0, 1, 0, now())`,
        id,
      ),
    )
    await expect('system * ', () => run(`update chunks set lease_owner = 'worker' where video_id = $1`, id))
    received = []
    await run(`update chunks set lease_until = now() where video_id = $1`, id)
    await run(`update sources set lock_until = now() where video_id = $1`, id)

    await run(`insert into webhooks (id, environment, url, events, secret, created_at)
               values ('wh0', 'production', 'https://example.com', '{}', 'x', now())`)
    await expect('deliveries production wh0', () =>
      run(`insert into deliveries (webhook_id, event_id, created_at) values ('wh0', 'ev0', now())`),
    )
    assert.ok(!received.some((payload) => /^(system|videos)/.test(payload)), `${received}`)
    await expect('webhooks production wh0', () => run(`delete from webhooks where id = 'wh0'`))
    await expect(`events production ${id}`, () =>
      run(`insert into events values (default, 'ev0', 'production', 'x', $1, '{}', now())`, id),
    )
    await expect('sessions * ', () =>
      run(`insert into viewing_events (session_id, emitted_at, type) values ('x', now(), 'play')`),
    )
    await expect(`videos production ${id}`, () => call(path, { method: 'DELETE' }))
    const discarded = `${other.url}/discarded/videos/${id}`
    await expect(`videos production ${id}`, () => call(discarded, { method: 'DELETE' }))
  })

  test('for broadcasts and their recordings', async () => {
    const { body } = await call(`${other.url}/live-streams`, { method: 'POST', json: { name: 'show' } })
    const payload = `live-streams production ${body.liveStreamId}`
    await watch(3_600)
    for (const sql of [
      `insert into broadcasts (id, live_stream_id, environment, record, state, completing, fence, owner_url, lease_until,
         qualities, restreams, started_at)
       values ('br0', '${body.liveStreamId}', 'production', true, 'live', false, 1, '', now(), '[]', '[]', now())`,
      `update broadcasts set health = '{}' where id = 'br0'`,
      `insert into recordings values ('br0', 1, 0, 1, 'vi0', 'waiting', null, now())`,
      `delete from recordings where broadcast_id = 'br0'`,
      `delete from broadcasts where id = 'br0'`,
    ]) {
      received = []
      await client.query(sql)
      await waitFor(
        () => received.includes(payload),
        () => `${sql}: ${received}`,
      )
    }
  })
})

test('a shutdown ends the open pages', async () => {
  const page = await openPage(await logIn(service), { url: other.url })
  assert.equal(await other.stop(), 0)
  await waitFor(page.isEnded)
})
