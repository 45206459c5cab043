import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { type Kinora, kinora, query, startKinora, waitFor } from '../support/harness.ts'
import { type Attempt, createWebhook, startReceiver } from '../support/receiver.ts'
import { recordEvents } from '../support/record-events.ts'

const count = 1_000
const lostError = 'The worker stopped before the outcome was known.'
/** On a busy machine an answer may be too late. */
const lateError = 'No response within 5 seconds.'
/** The requests to a webhook that a worker has open at the same time. */
const maxPerWebhook = 16

test('after kill -9 of a worker, every event is still delivered and every attempt is in the log', async (t) => {
  const workers: Kinora[] = []
  t.after(() => Promise.all(workers.map((worker) => worker.stop())))
  const env = { KINORA_ALLOW_PRIVATE_NETWORKS: 'true', KINORA_LOG_LEVEL: 'warn' }
  const service = await kinora(t, { ...env, KINORA_ROLES: 'api' })
  const attempted = new Set<string>()
  const unanswered = new Set<ServerResponse>()
  let isKilled = false
  // From half of the requests until the kill, first attempts to /a get no answer. Later ones do, or they would fail.
  const receiver = await startReceiver(t, ({ path, headers }, response) => {
    const isFirst = path === '/a' && !attempted.has(headers['webhook-id']!)
    if (isFirst) attempted.add(headers['webhook-id']!)
    if (!isFirst || isKilled || receiver.received.length < count / 2)
      return void setTimeout(() => response.end(), 30)
    unanswered.add(response)
    response.once('close', () => unanswered.delete(response))
  })
  const paths = ['/a', '/b']
  for (const path of paths) await createWebhook(service.url, receiver.url + path)
  const startWorker = () =>
    startKinora({
      ...env,
      KINORA_ROLES: 'worker',
      KINORA_DATABASE_URL: service.database,
      KINORA_DATA_DIR: service.data,
    })
  workers.push(...(await Promise.all([startWorker(), startWorker()])))
  await recordEvents(service.database, count)
  // These are more than one worker has, so both have some.
  await waitFor(() => unanswered.size > maxPerWebhook)
  await workers[0]!.kill()
  isKilled = true
  for (const response of unanswered) response.end()

  const pending = async () =>
    (await query(service.database, "select count(*)::int as n from deliveries where state = 'pending'"))[0].n
  await waitFor(
    async () => (await pending()) === 0,
    () => `${receiver.received.length} requests arrived`,
  )

  const rows: { path: string; id: string; state: string; attempts: Attempt[] }[] = await query(
    service.database,
    `select right(url, 2) as path, event_id as id, state, attempts
     from deliveries join webhooks on webhooks.id = webhook_id`,
  )
  assert.equal(rows.length, count * paths.length)
  const arrivals = Map.groupBy(receiver.received, ({ path, headers }) => `${path} ${headers['webhook-id']}`)
  assert.equal(arrivals.size, rows.length)
  let losses = 0
  for (const { path, id, state, attempts } of rows) {
    assert.equal(state, 'succeeded')
    const answered = attempts.filter(({ error }) => error !== lostError && error !== lateError)
    assert.equal(answered.length, 1)
    assert.equal(answered[0]!.status, 200)
    losses += attempts.filter(({ error }) => error === lostError).length
    // The request of a killed worker may or may not have been sent.
    const arrived = arrivals.get(`${path} ${id}`)!.length
    assert.ok(arrived >= 1 && arrived <= attempts.length, `${arrived} of ${attempts.length}`)
  }
  // Lost attempts are those in progress, 16 for each webhook, and those that had ended but were not yet written.
  assert.ok(losses > 0 && losses < count / 2, `${losses} attempts were lost`)
  for (const path of paths) {
    const bodies = new Set(receiver.requestsTo(path).map(({ body }) => JSON.parse(body).videoId))
    assert.equal(bodies.size, count)
  }
})
