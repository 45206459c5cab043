import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { beforeEach, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { openDb, openPool } from '../../server/lib/db.ts'
import type { Tables } from '../../server/tables.ts'
import { saveOutcomes } from '../../server/webhooks/delivery-store.ts'
import { recordEvent } from '../../server/webhooks/events.ts'
import { deleteOldEvents } from '../../server/webhooks/expire.ts'
import {
  call,
  createDatabase,
  kinora,
  query,
  sharedKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { makeClip } from '../support/media/media.ts'
import {
  answeredOf,
  createWebhook,
  type Delivery,
  deliveriesOf,
  encoded,
  lateError,
  post,
  type Received,
  startReceiver,
  waitForDeliveries,
} from '../support/receiver.ts'
import { recordEvents, withDb } from '../support/record-events.ts'
import { assertEncoded, uploadVideo } from '../support/videos.ts'

const service = sharedKinora({ KINORA_ALLOW_PRIVATE_NETWORKS: 'true' })

// The service may save outcomes of the previous test at the same time, and Postgres ends one side of a deadlock.
beforeEach(() =>
  waitFor(() =>
    query(service.database, 'delete from webhooks; delete from deliveries; delete from events').then(
      () => true,
      (error) => {
        if (error.code !== '40P01') throw error
        return false
      },
    ),
  ),
)

const hook = (webhookId: string) => `${service.url}/webhooks/${webhookId}`
const verify = (secret: string, { body, headers }: Received) => new Webhook(secret).verify(body, headers)
const hmac = (secret: string, body: string) => createHmac('sha256', secret).update(body).digest('hex')

test('an event is delivered exactly as logged and signed in both formats', async (t) => {
  const receiver = await startReceiver(t, (_received, response) => response.end('thank you'))
  const webhook = await createWebhook(service.url, `${receiver.url}/a?b=c`)
  await recordEvents(service.database, 1)
  const [received] = await receiver.waitForRequests('/a?b=c', 1)
  const { body, headers } = received!
  const [logged] = await query(service.database, 'select id, payload::text as payload from events')
  assert.equal(body, logged.payload)
  assert.match(
    body,
    /^\{"type":"video\.encoding\.quality\.completed","emittedAt":"[-\dT:.]+Z","videoId":"vi0"/,
  )
  assert.equal(headers['content-type'], 'application/json')
  assert.match(headers['user-agent']!, /^Kinora/)
  assert.equal(headers['x-api-video-webhookid'], webhook.webhookId)
  assert.equal(headers['x-api-video-signature'], hmac(webhook.signatureSecret, body))
  assert.equal(headers['webhook-id'], logged.id)
  assert.deepEqual(verify(webhook.standardSecret, received!), JSON.parse(body))

  const [delivery] = await waitForDeliveries(service.url, webhook.webhookId, 1)
  const { state, eventId, type, nextAttemptAt } = delivery!
  assert.deepEqual(
    { state, eventId, type, nextAttemptAt },
    { state: 'succeeded', eventId: logged.id, type: encoded, nextAttemptAt: null },
  )
  const [attempt, ...more] = answeredOf(delivery!)
  const { status, answer, error, durationMs } = attempt!
  assert.deepEqual(
    { status, answer, error, more },
    { status: 200, answer: 'thank you', error: null, more: [] },
  )
  assert.ok(durationMs < 60_000)

  const at = `${service.url}/webhooks/${webhook.webhookId}/deliveries/${delivery!.deliveryId}`
  const { request, ...shown } = (await call(at)).body
  assert.deepEqual(shown, delivery)
  assert.deepEqual([request.url, request.body], [`${receiver.url}/a?b=c`, body])
  const names = ['content-type', 'x-api-video-webhookid', 'webhook-id', 'webhook-timestamp']
  assert.deepEqual(Object.keys(request.headers), names)
  const last = receiver.requestsTo('/a?b=c').at(-1)!
  for (const name of names) assert.equal(request.headers[name], last.headers[name], name)
})

test('an event is delivered once to each webhook that subscribes to it', async (t) => {
  const receiver = await startReceiver(t)
  const webhooks = [
    await createWebhook(service.url, `${receiver.url}/both`, [encoded, 'live-stream.broadcast.ended']),
    await createWebhook(service.url, `${receiver.url}/one`),
    await createWebhook(service.url, `${receiver.url}/one`),
    await createWebhook(service.url, `${receiver.url}/other`, ['video.source.recorded']),
  ]
  await recordEvents(service.database, 1)
  await withDb(service.database, async (trx) => {
    const live = { liveStreamId: 'li1' }
    await recordEvent(trx, 'production', 'live-stream.broadcast.ended', live, new Date())
    await recordEvent(trx, 'sandbox', 'live-stream.broadcast.ended', live, new Date())
  })
  await receiver.waitForEvents('/both', 2)
  await receiver.waitForEvents('/one', 2)
  // These deliveries come after any that would have been sent by mistake.
  await recordEvents(service.database, 1)
  await receiver.waitForEvents('/both', 3)
  await receiver.waitForEvents('/one', 4)
  assert.equal(receiver.requestsTo('/other').length, 0)
  const deliveries: Delivery[] = []
  for (const [i, count] of [3, 2, 2, 0].entries()) {
    const found = await waitForDeliveries(service.url, webhooks[i]!.webhookId, count)
    assert.equal(found.length, count)
    deliveries.push(...found)
  }
  for (const each of deliveries) assert.equal(answeredOf(each).length, 1, JSON.stringify(each))
  const sent = deliveries.flatMap(({ attempts }) => attempts).length
  assert.ok(receiver.received.length <= sent, `${receiver.received.length} requests of ${sent} attempts`)
})

test('a failed delivery is attempted three times, three seconds apart, with identical bytes, and can be redelivered', async (t) => {
  let isBroken = true
  const receiver = await startReceiver(t, ({ path }, response) => {
    const isSecond = path === '/second' && receiver.requestsTo(path).length >= 2
    response.writeHead(isBroken && !isSecond ? 503 : 200).end('busy')
  })
  const never = await createWebhook(service.url, `${receiver.url}/never`)
  const second = await createWebhook(service.url, `${receiver.url}/second`)
  const since = new Date().toISOString()
  await recordEvents(service.database, 1)
  const [failed] = await waitForDeliveries(service.url, never.webhookId, 1)
  const [succeeded] = await waitForDeliveries(service.url, second.webhookId, 1)
  assert.deepEqual([failed!.state, failed!.attempts.length], ['failed', 3])
  const answered = answeredOf(failed!)
  assert.ok(answered.length > 0)
  for (const { status, answer, error } of answered)
    assert.deepEqual([status, answer, error], [503, 'busy', 'The response has status 503.'])
  const requests = receiver.requestsTo('/never')
  assert.ok(requests.length >= answered.length && requests.length <= 3, `${requests.length} requests`)
  assert.deepEqual(new Set(requests.map(({ body }) => body)).size, 1)
  assert.deepEqual(new Set(requests.map(({ headers }) => headers['webhook-id'])).size, 1)
  for (const request of requests) verify(never.standardSecret, request)
  for (const i of [1, 2]) {
    const [previous, attempt] = failed!.attempts.slice(i - 1).map(({ at }) => Date.parse(at)) as [
      number,
      number,
    ]
    assert.ok(attempt - previous >= 3_000, `${attempt - previous} ms`)
  }
  assert.equal(succeeded!.state, 'succeeded')
  const statuses = succeeded!.attempts.map(({ status, error }) => (error === lateError ? 'late' : status))
  assert.match(statuses.join(), /^503,(?:late,)?200$|^late,(?:503,|late,)?200$/)

  assert.equal((await deliveriesOf(service.url, never.webhookId, '&state=succeeded')).length, 0)
  assert.equal((await deliveriesOf(service.url, never.webhookId, '&state=failed')).length, 1)
  isBroken = false
  assert.deepEqual((await post(`${hook(never.webhookId)}/redeliver`, { since: '2999-01-01' })).body, {
    count: 0,
  })
  const all = await post(`${hook(never.webhookId)}/redeliver`, { since })
  assert.deepEqual([all.status, all.body], [202, { count: 1 }])
  const [again] = await waitForDeliveries(service.url, never.webhookId, 1)
  assert.equal(again!.state, 'succeeded')
  assert.equal(again!.deliveryId, failed!.deliveryId)
  assert.deepEqual(
    answeredOf(again!).map(({ status }) => status),
    [...answered.map(({ status }) => status), 200],
  )
  const sent = receiver.requestsTo('/never').length
  const one = await post(`${hook(never.webhookId)}/deliveries/${failed!.deliveryId}/redeliver`)
  assert.deepEqual([one.status, one.body.state], [202, 'pending'])
  const last = (await receiver.waitForRequests('/never', sent + 1)).at(-1)
  assert.equal(last!.body, requests[0]!.body)
  assert.equal((await post(`${hook(never.webhookId)}/redeliver`, { since: 'now' })).body.name, 'since')
})

test('after a rotation, requests are signed with both the new and the previous secret', async (t) => {
  const receiver = await startReceiver(t)
  const { webhookId, ...old } = await createWebhook(service.url, `${receiver.url}/r`)
  const { body: fresh } = await post(`${hook(webhookId)}/rotate-secret`, { validForSeconds: 60 })
  await recordEvents(service.database, 1)
  const [both] = await receiver.waitForRequests('/r', 1)
  verify(old.standardSecret, both!)
  verify(fresh.standardSecret, both!)
  assert.equal(both!.headers['x-api-video-signature'], hmac(fresh.signatureSecret, both!.body))
  assert.equal(both!.headers['x-api-video-signature-previous'], hmac(old.signatureSecret, both!.body))
  await query(service.database, "update webhooks set previous_until = now() - interval '1 second'")
  await recordEvents(service.database, 1)
  const [, alone] = await receiver.waitForEvents('/r', 2)
  verify(fresh.standardSecret, alone!)
  assert.throws(() => verify(old.standardSecret, alone!))
  assert.equal(alone!.headers['x-api-video-signature-previous'], undefined)
})

test('a test delivery of every event type can be sent and is not in the event log', async (t) => {
  const receiver = await startReceiver(t)
  const webhook = await createWebhook(service.url, `${receiver.url}/t`)
  const byDefault = await call(`${hook(webhook.webhookId)}/test`, { method: 'POST' })
  assert.equal(byDefault.status, 202, byDefault.text)
  assert.equal(byDefault.body.type, encoded)
  await receiver.waitForRequests('/t', 1)
  const kinds = (await call(`${service.url}/openapi.json`)).body.components.schemas.Webhook.properties.events
  for (const event of kinds.items.enum) {
    const sent = await post(`${hook(webhook.webhookId)}/test`, { event })
    assert.deepEqual([sent.status, sent.body.type, sent.body.state], [202, event, 'pending'])
  }
  const all = await receiver.waitForEvents('/t', kinds.items.enum.length + 1)
  assert.deepEqual(
    new Set(all.map(({ body }) => JSON.parse(body).type)),
    new Set(kinds.items.enum as string[]),
  )
  for (const each of all) {
    verify(webhook.standardSecret, each)
    assert.match(each.headers['webhook-id']!, /^test_/)
  }
  assert.equal((await call(`${service.url}/events`)).body.pagination.itemsTotal, 0)
  assert.equal((await post(`${hook(webhook.webhookId)}/test`, { event: 'x' })).body.name, 'event')
})

test('a deleted webhook receives no further attempts', async (t) => {
  let deletion: Promise<unknown> | undefined
  const receiver = await startReceiver(t, async ({ path }, response) => {
    // Deleted during the first attempt, so that no other is due.
    if (path === '/gone') deletion ??= call(hook(gone.webhookId), { method: 'DELETE' })
    await deletion
    response.writeHead(500).end()
  })
  const gone = await createWebhook(service.url, `${receiver.url}/gone`)
  const stays = await createWebhook(service.url, `${receiver.url}/stays`)
  await recordEvents(service.database, 1)
  await receiver.waitForRequests('/gone', 1)
  await deletion
  const [failed] = await waitForDeliveries(service.url, stays.webhookId, 1)
  assert.equal(failed!.attempts.length, 3)
  assert.equal(receiver.requestsTo('/gone').length, 1)
  assert.equal((await call(`${hook(gone.webhookId)}/deliveries`)).status, 404)
})

test('events of one video arrive in order even if the receiver is slow', async (t) => {
  const receiver = await startReceiver(t, (_received, response) => {
    setTimeout(() => response.end(), Math.random() * 40)
  })
  await createWebhook(service.url, `${receiver.url}/o`)
  const qualities = ['240p', '360p', '480p', '720p', '1080p', '2160p']
  await withDb(service.database, async (trx) => {
    for (const quality of qualities)
      for (const videoId of ['viA', 'viB'])
        await recordEvent(trx, 'production', encoded, { videoId, encoding: 'hls', quality }, new Date())
  })
  const all = (await receiver.waitForEvents('/o', 12)).map(({ body }) => JSON.parse(body))
  for (const videoId of ['viA', 'viB']) {
    const got = all.filter((each) => each.videoId === videoId).map(({ quality }) => quality)
    assert.deepEqual(got, qualities)
  }
})

test('deliveries to broken receivers fail with a reason and do not delay others', async (t) => {
  const folder = await temporaryFolder(t)
  const pem = (kind: string) => join(folder, `${kind}.pem`)
  const files = ['-keyout', pem('key'), '-out', pem('cert'), '-subj', '/CN=x', '-days', '1']
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...files], { stdio: 'pipe' })
  const secure = createTlsServer({ key: readFileSync(pem('key')), cert: readFileSync(pem('cert')) })
  secure.listen(0, '127.0.0.1')
  await once(secure, 'listening')
  t.after(() => secure.close())

  const silentRequests = { open: 0, maxOpen: 0 }
  const receiver = await startReceiver(t, ({ path }, response, request) => {
    if (path === '/early') request.socket.destroy()
    else if (path === '/moved') response.writeHead(302, { location: `${receiver.url}/good` }).end()
    else if (path !== '/silent') response.end()
    else {
      silentRequests.open += 1
      silentRequests.maxOpen = Math.max(silentRequests.maxOpen, silentRequests.open)
      response.once('close', () => {
        silentRequests.open -= 1
      })
    }
  })
  const bad: Record<string, { url: string; reason: RegExp }> = {
    silent: { url: `${receiver.url}/silent`, reason: /^No response within/ },
    early: { url: `${receiver.url}/early`, reason: /closed the connection too early/ },
    moved: { url: `${receiver.url}/moved`, reason: /The response has status 302/ },
    unsafe: {
      url: `https://127.0.0.1:${(secure.address() as AddressInfo).port}/`,
      reason: /No secure connection/,
    },
    nobody: { url: 'http://127.0.0.1:8/', reason: /No connection/ },
    nowhere: { url: 'http://nowhere.invalid/', reason: /could not be resolved|No response/ },
  }
  const ids = new Map<string, string>()
  for (const [name, { url }] of Object.entries(bad))
    ids.set(name, (await createWebhook(service.url, url)).webhookId)
  await createWebhook(service.url, `${receiver.url}/good`)
  // More than the concurrency limit of one webhook.
  await recordEvents(service.database, 40)
  await receiver.waitForEvents('/good', 40)
  // The limit is 16. A new request may arrive here before the end of those that timed out.
  assert.ok(silentRequests.maxOpen > 0 && silentRequests.maxOpen <= 24, `${silentRequests.maxOpen}`)
  for (const [name, webhookId] of ids) {
    if (name === 'silent') continue
    const deliveries = await waitForDeliveries(service.url, webhookId, 40)
    for (const { state, attempts } of deliveries) {
      assert.equal(state, 'failed', name)
      assert.equal(attempts.length, 3, name)
      for (const { error } of attempts)
        if (error !== lateError) assert.match(error ?? '', bad[name]!.reason, name)
    }
    const errors = deliveries.flatMap(({ attempts }) => attempts).map(({ error }) => error ?? '')
    assert.ok(
      errors.some((error) => bad[name]!.reason.test(error)),
      name,
    )
  }
  const silent = () => deliveriesOf(service.url, ids.get('silent')!)
  await waitFor(async () => (await silent()).some(({ attempts }) => attempts.length > 0))
  const tried = (await silent()).find(({ attempts }) => attempts.length > 0)
  assert.match(tried!.attempts[0]!.error!, bad.silent!.reason)
  await recordEvents(service.database, 1)
  assert.equal((await receiver.waitForEvents('/good', 41)).length, 41)
})

test('a host name that resolves to a private IP address is rejected on delivery', async (t) => {
  const strict = await kinora(t)
  const receiver = await startReceiver(t)
  const url = receiver.url.replace('127.0.0.1', 'localhost')
  const { webhookId } = await createWebhook(strict.url, url)
  await recordEvents(strict.database, 1)
  const [delivery] = await waitForDeliveries(strict.url, webhookId, 1)
  assert.equal(delivery!.state, 'failed')
  assert.match(answeredOf(delivery!)[0]!.error!, /localhost is in a private or reserved network/)
  assert.equal(receiver.received.length, 0)
})

test('encoding events arrive in order: HLS from the lowest quality up, then MP4', async (t) => {
  const receiver = await startReceiver(t)
  const { webhookId } = await createWebhook(service.url, `${receiver.url}/e`)
  const clip = join(await temporaryFolder(t), 'clip.mp4')
  await makeClip(clip, { size: '640x360', seconds: 1 })
  const videoId = await uploadVideo(service, clip, { mp4Support: true })
  await assertEncoded(service, videoId, ['hls 240p', 'hls 360p', 'mp4 360p'])
  const got = (await receiver.waitForEvents('/e', 3)).map(({ body }) => JSON.parse(body))
  assert.deepEqual(
    got.map(({ encoding, quality }) => `${encoding} ${quality}`),
    ['hls 240p', 'hls 360p', 'mp4 360p'],
  )
  assert.ok(got.every((each) => each.videoId === videoId && each.type === encoded))
  await waitForDeliveries(service.url, webhookId, 3)
})

test('events and deliveries are deleted after 30 days', async () => {
  const { webhookId } = await createWebhook(service.url, 'http://127.0.0.1:8/')
  await recordEvents(service.database, 2_500)
  const db = openDb<Tables>(openPool(service.database, () => {}))
  const count = async () =>
    (
      await query(
        service.database,
        'select (select count(*) from events) + (select count(*) from deliveries) as n',
      )
    )[0].n
  try {
    const day = 24 * 3_600_000
    await deleteOldEvents({ db, now: () => new Date(Date.now() + 29 * day) })
    assert.equal(await count(), '5000')
    await deleteOldEvents({ db, now: () => new Date(Date.now() + 31 * day) })
    assert.equal(await count(), '0')
  } finally {
    await db.destroy()
  }
  assert.deepEqual(await deliveriesOf(service.url, webhookId), [])
})

test('outcomes that are saved while old deliveries are deleted cause no deadlock', async (t) => {
  const database = await createDatabase(t)
  const pool = openPool(database, () => {})
  const db = openDb<Tables>(pool)
  t.after(() => db.destroy())
  const add = async (createdAt: string) =>
    (
      await query(
        database,
        `insert into deliveries (webhook_id, event_id, lease_owner, created_at) values ('w', 'e', 'worker', ${createdAt})
         returning id::int`,
      )
    )[0].id
  const [first, recent, last] = [await add(`'2000-01-01'`), await add('now()'), await add(`'2000-01-01'`)]
  // With a large table, outcomes are looked up one by one.
  await query(
    database,
    `insert into deliveries (webhook_id, event_id, created_at) select 'w', 'e', now() from generate_series(1, 50000);
     analyze deliveries`,
  )
  const waitingQueries = async () =>
    (
      await query(
        database,
        `select count(*)::int as n from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'`,
      )
    )[0].n

  // Holds the writer of the outcomes in the middle of its batch, while the clean-up begins.
  const lock = await pool.connect()
  try {
    await lock.query('begin')
    await lock.query('select from deliveries where id = $1 for update', [recent])
    const outcome = { leaseOwner: 'worker', attempts: [], state: 'succeeded' as const, tries: 1 }
    const saved = saveOutcomes(
      db,
      [last, recent, first].map((id) => ({ ...outcome, id })),
    )
    await waitFor(async () => (await waitingQueries()) === 1)
    const deleted = deleteOldEvents({ db, now: () => new Date() })
    await waitFor(async () => (await waitingQueries()) === 2)
    await lock.query('commit')
    await Promise.all([saved, deleted])
  } finally {
    lock.release()
  }
  assert.deepEqual(await query(database, 'select id::int, state from deliveries order by id limit 1'), [
    { id: recent, state: 'succeeded' },
  ])
})
