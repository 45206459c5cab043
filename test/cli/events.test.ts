import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { recordEvent } from '../../server/webhooks/events.ts'
import {
  call,
  kinoraCommand,
  productionKey,
  root,
  runKinora,
  sandboxKey,
  sharedKinora,
  waitFor,
} from '../support/harness.ts'
import { createWebhook, encoded, startReceiver } from '../support/receiver.ts'
import { recordEvents, withDb } from '../support/record-events.ts'

const service = sharedKinora({ KINORA_ALLOW_PRIVATE_NETWORKS: 'true' })
const env = () => ({ KINORA_URL: service.url, KINORA_KEY: productionKey })

test('events list prints the newest event last, filters by type and video, and shows one environment only', async () => {
  await recordEvents(service.database, 3)
  const { stdout } = await runKinora(['events', 'list'], env())
  assert.deepEqual(
    stdout.match(/videoId=\w+/g)?.slice(-3),
    ['videoId=vi0', 'videoId=vi1', 'videoId=vi2'],
    stdout,
  )
  const one = await runKinora(['events', 'list', '--video', 'vi1', '--json'], env())
  assert.ok(
    JSON.parse(one.stdout).every(
      ({ payload }: { payload: { videoId: string } }) => payload.videoId === 'vi1',
    ),
  )
  const none = await runKinora(['events', 'list', '--type', 'video.source.recorded'], env())
  assert.equal(none.stdout, 'There are no events.\n')
  const other = { KINORA_URL: `${service.url}/sandbox`, KINORA_KEY: sandboxKey }
  assert.equal((await runKinora(['events', 'list'], other)).stdout, 'There are no events.\n')
})

test('events replay delivers an event again to the webhooks that currently subscribe to it', async (t) => {
  await recordEvents(service.database, 1)
  const receiver = await startReceiver(t)
  await createWebhook(service.url, `${receiver.url}/late`)
  const { stdout } = await runKinora(['events', 'list', '--json'], env())
  const { eventId, payload } = JSON.parse(stdout).at(-1)
  for (const count of [1, 2]) {
    const replayed = await runKinora(['events', 'replay', eventId], env())
    assert.match(replayed.stdout, /sent again to 1 webhook\./)
    const received = await receiver.waitForRequests('/late', count)
    assert.equal(received.at(-1)?.headers['webhook-id'], eventId)
    assert.deepEqual(JSON.parse(received.at(-1)!.body), payload)
  }
})

test('webhooks listen prints new events and forwards them with a signature', async (t) => {
  const receiver = await startReceiver(t)
  const args = [kinoraCommand(), 'webhooks', 'listen', '--forward-to', `${receiver.url}/hook`]
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, ...env() },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  let printed = ''
  child.stdout.on('data', (chunk) => {
    printed += chunk
  })
  try {
    await waitFor(() => printed.includes('forwarded to'))
    const secret = /signed with (\S+)/.exec(printed)?.[1] ?? ''
    const outcomes = () => printed.match(/-> .+\n/g) ?? []
    let recorded = 0
    await waitFor(
      async () => {
        await recordEvents(service.database, 2)
        recorded += 2
        await waitFor(() => outcomes().length === recorded)
        // An event that a busy machine does not answer in time is not passed on again.
        return outcomes().slice(-2).join('') === '-> 204\n-> 204\n'
      },
      () => printed,
    )
    const received = receiver.requestsTo('/hook')
    for (const each of received) {
      const expected = createHmac('sha256', secret).update(each.body).digest('hex')
      assert.equal(each.headers['x-api-video-signature'], expected)
    }
    assert.deepEqual(
      received.slice(-2).map((each) => JSON.parse(each.body).videoId),
      ['vi0', 'vi1'],
    )
    assert.ok(received.length <= recorded, `${received.length} of ${recorded}`)
  } finally {
    child.kill('SIGINT')
    await exited
  }
})

test('webhooks listen prints an event that is committed a minute late, but none of before its start', async (t) => {
  const recordLate = (videoId: string) =>
    withDb(service.database, (trx) => {
      const payload = { videoId, encoding: 'hls', quality: '240p' } as const
      return recordEvent(trx, 'production', encoded, payload, new Date(Date.now() - 60_000))
    })
  await recordEvents(service.database, 1)
  await recordLate('viBefore')
  const child = spawn(process.execPath, [kinoraCommand(), 'webhooks', 'listen'], {
    cwd: root,
    env: { ...process.env, ...env() },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  assert.equal((await lines.next()).value, 'Waiting for events.')
  await recordLate('viAfter')
  assert.match((await lines.next()).value ?? '', /videoId=viAfter/)
})

test('with --json, webhooks listen prints its secret and then each event as JSON', async (t) => {
  const receiver = await startReceiver(t)
  const args = ['webhooks', 'listen', '--forward-to', `${receiver.url}/json`, '--json']
  const child = spawn(process.execPath, [kinoraCommand(), ...args], {
    cwd: root,
    env: { ...process.env, ...env() },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const next = async () => JSON.parse((await lines.next()).value ?? '')
  const first = await next()
  assert.deepEqual([Object.keys(first), first.forwardTo], [['forwardTo', 'secret'], `${receiver.url}/json`])
  let event: { response?: number } = {}
  await waitFor(async () => {
    await recordEvents(service.database, 1)
    event = await next()
    // An event that a busy machine does not answer in time is not passed on again.
    return event.response !== undefined
  })
  const [latest] = (await call(`${service.url}/events`)).body.data
  assert.deepEqual(event, { ...latest, response: 204 })
})

test('a failed command prints one sentence', async () => {
  for (const [args, code, message] of [
    [['events', 'replay'], 2, /EVENT is missing/],
    [['events', 'replay', 'event_0000000000000000000000'], 1, /404/],
    [['events', 'list', '--type', 'nonsense'], 1, /400/],
    [['webhooks', 'listen', '--forward-to', 'ftp://x'], 2, /must be an http or https URL/],
    [['webhooks', 'listen', '--watch'], 2, /no option/],
  ] as const) {
    const result = await runKinora([...args], env())
    assert.equal(result.code, code, result.stderr)
    assert.match(result.stderr, message)
  }
})
