import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { recordEvent } from '../../server/webhooks/events.ts'
import { assertProblem, call, kinora, query, sandboxKey, sharedKinora } from '../support/harness.ts'
import { client } from '../support/published-client.ts'
import { createWebhook, encoded, post } from '../support/receiver.ts'
import { withDb } from '../support/record-events.ts'

// The webhook object and the event log, over HTTP.

const service = sharedKinora({ KINORA_ROLES: 'api' })
const url = 'https://example.com/hook?x=1&y=a%20b'
const hooks = () => `${service.url}/webhooks`

beforeEach(() => query(service.database, 'delete from webhooks; delete from events; delete from deliveries'))

const allEvents = [
  'live-stream.broadcast.started',
  'live-stream.broadcast.ended',
  'video.source.recorded',
  'video.encoding.quality.completed',
  'video.encoding.completed',
  'video.encoding.failed',
  'video.caption.generated',
  'video.summary.generated',
]

test('the published client creates, shows, lists and deletes webhooks', async () => {
  const { webhooks } = client(service.url)
  const created = await webhooks.create({ events: allEvents, url })
  assert.match(created.webhookId!, /^webhook_[0-9A-Za-z]{22}$/)
  assert.equal(created.url, url)
  assert.deepEqual(created.events, allEvents)
  assert.ok(Math.abs(created.createdAt!.getTime() - Date.now()) < 60_000)
  assert.match(created.signatureSecret!, /^sig_sec_[0-9A-Za-z]{22}$/)
  assert.deepEqual(await webhooks.get(created.webhookId!), created)

  const other = await webhooks.create({ events: [allEvents[0]!], url })
  const list = await webhooks.list({ currentPage: 1, pageSize: 25 })
  assert.deepEqual(list.data, [other, created])
  assert.equal(list.pagination.itemsTotal, 2)
  const filtered = await webhooks.list({ events: encoded })
  assert.deepEqual(filtered.data, [created])
  assert.equal(filtered.pagination.itemsTotal, 1)
  const second = await webhooks.list({ currentPage: 2, pageSize: 1 })
  assert.deepEqual(second.data, [created])
  assert.equal(second.pagination.pagesTotal, 2)

  await webhooks.delete(created.webhookId!)
  await assert.rejects(webhooks.get(created.webhookId!), { code: 404 })
  await assert.rejects(webhooks.delete(created.webhookId!), { code: 404 })
  assert.deepEqual((await webhooks.list()).data, [other])
})

test('a webhook has both id fields and both secret formats; creation returns 201 and deletion 204', async () => {
  const { status, body } = await post(hooks(), { events: [encoded], url })
  assert.equal(status, 201)
  assert.equal(body.id, body.webhookId)
  assert.equal(body.standardSecret, `whsec_${btoa(body.signatureSecret)}`)
  assert.equal(body.previousSecretValidUntil, null)
  assert.equal((await call(`${hooks()}/${body.id}`, { method: 'DELETE' })).status, 204)
})

test('a response lists every missing or invalid attribute by name', async () => {
  const problemsOf = async (json: unknown) => {
    const response = await post(hooks(), json)
    assert.equal(response.status, 400, response.text)
    return response.body.problems.map(
      ({ type, name }: { type: string; name: string }) => `${type.split('/').pop()} ${name}`,
    )
  }
  assert.deepEqual(await problemsOf({}), ['attribute-required events', 'attribute-required url'])
  assert.deepEqual(await problemsOf({ url }), ['attribute-required events'])
  assert.deepEqual(await problemsOf({ events: [], url: 'ftp://example.com' }), [
    'invalid-attribute events',
    'invalid-attribute url',
  ])
  assert.deepEqual(await problemsOf({ events: 'video', url: 7 }), [
    'invalid-attribute events',
    'invalid-attribute url',
  ])
  assert.deepEqual(await problemsOf({ events: [encoded, 'video.gone', 3], url }), [
    'invalid-attribute events[1]',
    'invalid-attribute events[2]',
  ])
  assertProblem(await call(hooks(), { method: 'POST', body: '[1]' }), 400, 'invalid-payload')
  assertProblem(await call(hooks(), { method: 'POST' }), 400, 'invalid-payload')
})

test('duplicate events are stored once and unknown attributes are ignored', async () => {
  const { status, body } = await post(hooks(), { events: [encoded, encoded], url, record: true })
  assert.equal(status, 201)
  assert.deepEqual(body.events, [encoded])
})

test('URLs outside the public internet are rejected in every notation', async () => {
  for (const each of [
    'example.com/hook',
    '',
    'javascript:alert(1)',
    'file:///etc/passwd',
    'https://user:secret@example.com/',
    'http://example.com:25/',
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://0x7f.1/',
    'http://0177.0.0.1/',
    'http://127.1/',
    'http://１２７.０.０.１/',
    'http://0.0.0.0/',
    'http://10.1.2.3/',
    'http://172.16.0.1/',
    'http://192.168.1.1/',
    'http://169.254.169.254/latest/meta-data',
    'http://100.64.0.1/',
    'http://[::1]/',
    'http://[::]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[fe80::1]/',
    'http://[fd00::1]/',
    `https://example.com/${'a'.repeat(9_000)}`,
  ]) {
    assertProblem(await post(hooks(), { events: [encoded], url: each }), 400, 'invalid-attribute', 'url')
  }
  assert.deepEqual((await call(hooks())).body.data, [])
})

test('invalid query parameters are rejected by name', async () => {
  for (const [name, value] of [
    ['events', 'video.gone'],
    ['currentPage', '0'],
    ['pageSize', '101'],
  ] as const) {
    const response = await call(`${hooks()}?${name}=${value}`)
    assertProblem(response, 400, 'request-invalid-query-parameter', name)
  }
})

test('webhooks and events belong to their environment', async () => {
  const { webhookId } = await createWebhook(service.url, url)
  await withDb(service.database, (trx) =>
    recordEvent(trx, 'production', 'live-stream.broadcast.started', { liveStreamId: 'li1' }, new Date()),
  )
  const sandbox = `${service.url}/sandbox`
  const as = { key: sandboxKey }
  assertProblem(await call(`${sandbox}/webhooks/${webhookId}`, as), 404, 'resource-not-found', 'webhookId')
  for (const [method, path] of [
    ['PATCH', ''],
    ['GET', '/deliveries/delivery_1'],
  ] as const) {
    const json = method === 'PATCH' ? { url } : undefined
    const response = await call(`${sandbox}/webhooks/${webhookId}${path}`, { ...as, method, json })
    assertProblem(response, 404, 'resource-not-found', 'webhookId')
  }
  for (const path of ['', '/rotate-secret', '/test', '/deliveries/delivery_1/redeliver']) {
    const method = path === '' ? 'DELETE' : 'POST'
    const response = await call(`${sandbox}/webhooks/${webhookId}${path}`, { ...as, method })
    assertProblem(response, 404, 'resource-not-found', 'webhookId')
  }
  assert.equal((await call(`${sandbox}/webhooks`, as)).body.pagination.itemsTotal, 0)
  assert.equal((await call(`${sandbox}/events`, as)).body.pagination.itemsTotal, 0)
  assert.equal((await call(`${service.url}/events`)).body.pagination.itemsTotal, 1)
  assertProblem(await call(hooks(), { key: '' }), 401, 'authentication-missing-authorization-header')
})

test('unknown and malformed ids return 404', async () => {
  const { webhookId } = await createWebhook(service.url, url)
  for (const id of ['webhook_x', 'x', '%00', `${webhookId}x`, 'webhook_0000000000000000000000']) {
    assertProblem(await call(`${hooks()}/${id}`), 404, 'resource-not-found', 'webhookId')
  }
  for (const id of ['delivery_1', 'delivery_99999999999999999999', 'x', '1']) {
    for (const response of [
      await post(`${hooks()}/${webhookId}/deliveries/${id}/redeliver`),
      await call(`${hooks()}/${webhookId}/deliveries/${id}`),
    ])
      assertProblem(response, 404, 'resource-not-found', 'deliveryId')
  }
})

test('events and URL of a webhook can be changed, and each error names the attribute', async () => {
  const { webhookId, signatureSecret } = await createWebhook(service.url, url)
  const change = (json: unknown) => call(`${hooks()}/${webhookId}`, { method: 'PATCH', json })
  const ended = 'live-stream.broadcast.ended'
  const first = await change({ events: [ended, ended] })
  assert.equal(first.status, 200, first.text)
  assert.deepEqual([first.body.events, first.body.url], [[ended], url])
  const second = await change({ url: `${url}?b` })
  assert.deepEqual([second.body.events, second.body.url], [[ended], `${url}?b`])
  assert.equal(second.body.signatureSecret, signatureSecret)
  for (const [json, name] of [
    [{ events: [] }, 'events'],
    [{ events: ['video.gone'] }, 'events[0]'],
    [{ events: null }, 'events'],
    [{ url: 'ftp://example.com/' }, 'url'],
    [{ url: 5 }, 'url'],
    [{ url: null, events: [ended] }, 'url'],
  ] as const)
    assertProblem(await change(json), 400, 'invalid-attribute', name)
  assertProblem(await change([url]), 400, 'invalid-payload')
  assert.deepEqual((await change({})).body, second.body)
  assert.deepEqual((await call(`${hooks()}/${webhookId}`)).body, second.body)
})

test('after a secret is rotated, the previous one stays valid for a limited time', async () => {
  const { webhookId, signatureSecret } = await createWebhook(service.url, url)
  const rotate = (json?: unknown) => call(`${hooks()}/${webhookId}/rotate-secret`, { method: 'POST', json })
  const first = await rotate()
  assert.equal(first.status, 200, first.text)
  assert.match(first.body.signatureSecret, /^sig_sec_[0-9A-Za-z]{22}$/)
  assert.notEqual(first.body.signatureSecret, signatureSecret)
  const leftMs = Date.parse(first.body.previousSecretValidUntil) - Date.now()
  assert.ok(Math.abs(leftMs - 86_400_000) < 60_000, String(leftMs))
  const second = await rotate({ validForSeconds: 0 })
  assert.equal(second.body.previousSecretValidUntil, null)
  assert.equal((await call(`${hooks()}/${webhookId}`)).body.signatureSecret, second.body.signatureSecret)
  for (const validForSeconds of [-1, 1.5, '60', 1e9])
    assertProblem(await rotate({ validForSeconds }), 400, 'invalid-attribute', 'validForSeconds')
})

test('the limit of webhooks per environment also holds for concurrent requests', async (t) => {
  const limited = await kinora(t, { KINORA_ROLES: 'api', KINORA_WEBHOOK_LIMIT: '3' })
  const create = (path = '', key?: string) =>
    call(`${limited.url}${path}/webhooks`, {
      method: 'POST',
      json: { events: [encoded], url },
      ...(key && { key }),
    })
  const responses = await Promise.all(Array.from({ length: 8 }, () => create()))
  assert.deepEqual(responses.map(({ status }) => status).sort(), [201, 201, 201, 400, 400, 400, 400, 400])
  assertProblem(await create(), 400, 'webhook-limit-reached')
  assert.equal((await create('/sandbox', sandboxKey)).status, 201)
  const { body } = await call(`${limited.url}/webhooks`)
  await call(`${limited.url}/webhooks/${body.data[0].webhookId}`, { method: 'DELETE' })
  assert.equal((await create()).status, 201)
})

test('the event log is sorted newest first and filtered by type, video, live stream and time', async () => {
  const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second))
  await withDb(service.database, async (trx) => {
    for (const [second, videoId] of ['vi1', 'vi2', 'vi1'].entries())
      await recordEvent(trx, 'production', encoded, { videoId, encoding: 'hls', quality: '240p' }, at(second))
    const live = { liveStreamId: 'li1' }
    await recordEvent(trx, 'production', 'live-stream.broadcast.ended', live, at(3))
  })
  const list = async (search: string) => {
    const { status, body, text } = await call(`${service.url}/events${search}`)
    assert.equal(status, 200, text)
    assert.equal(body.pagination.itemsTotal, body.data.length)
    return body.data.map(({ emittedAt }: { emittedAt: string }) => new Date(emittedAt).getUTCSeconds())
  }
  assert.deepEqual(await list(''), [3, 2, 1, 0])
  assert.deepEqual(await list(`?type=${encoded}`), [2, 1, 0])
  assert.deepEqual(await list('?videoId=vi1'), [2, 0])
  assert.deepEqual(await list('?liveStreamId=li1'), [3])
  assert.deepEqual(await list('?liveStreamId=li1&videoId=vi1'), [])
  assert.deepEqual(await list('?liveStreamId=vi1'), [])
  assert.deepEqual(await list('?from=2026-01-01T00:00:01Z&to=2026-01-01T00:00:02+00:00'), [2, 1])
  assert.deepEqual(await list('?from=2027-01-01'), [])
  const { body } = await call(`${service.url}/events?currentPage=4&pageSize=1`)
  const [event] = body.data
  assert.match(event.eventId, /^event_[0-9A-Za-z]{22}$/)
  assert.equal(event.id, event.eventId)
  assert.deepEqual(event.payload, {
    type: encoded,
    emittedAt: '2026-01-01T00:00:00.000Z',
    videoId: 'vi1',
    encoding: 'hls',
    quality: '240p',
  })
  for (const [name, value] of [
    ['from', 'yesterday'],
    ['to', '2026-13-01'],
    ['from', '5'],
    ['type', 'video.gone'],
    ['liveStreamId', 'l'.repeat(101)],
  ] as const) {
    const response = await call(`${service.url}/events?${name}=${value}`)
    assertProblem(response, 400, 'request-invalid-query-parameter', name)
  }
})
