import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { DatabaseServers } from '../../server/lib/database/servers.ts'
import { Listener } from '../../server/lib/listener.ts'
import {
  type ApiResponse,
  assertSource,
  call,
  runKinora,
  sendFile,
  settingsOf,
  spawnKinora,
  startKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { startFfmpegEncoder } from '../support/live/encoders.ts'
import { createLiveStream } from '../support/live/live-streams.ts'
import { makeClip } from '../support/media/media.ts'
import { localPlaces, PostgresPair } from '../support/postgres-pair.ts'
import { withoutEncoding, withoutThumbnails } from '../support/programs.ts'
import { createWebhook, startReceiver } from '../support/receiver.ts'
import { sourceUrl, waitForEncoding } from '../support/videos.ts'

async function startPair(t: TestContext, options: { isSynchronous?: boolean } = {}): Promise<PostgresPair> {
  const pair = new PostgresPair({
    folder: await temporaryFolder(t),
    places: await localPlaces(),
    ...options,
  })
  t.after(() => pair.kill())
  await pair.start()
  return pair
}

async function startService(t: TestContext, { url }: PostgresPair, env: Record<string, string> = {}) {
  const data = await temporaryFolder(t)
  const service = await startKinora({ ...settingsOf({ database: url, data }), ...env })
  t.after(() => service.kill())
  return { ...service, data }
}

/** Sends the request until it succeeds, as clients do. The service may only say that it is unavailable. */
async function untilDone(request: () => Promise<ApiResponse>, failures: number[]): Promise<ApiResponse> {
  for (;;) {
    const response = await request()
    if (response.status < 300) return response
    assert.equal(response.status, 503, response.text)
    assert.ok(Number(response.headers.get('retry-after')) > 0)
    failures.push(Date.now())
    await delay(50)
  }
}

test('uploads, encodings and webhooks go on after two failovers, and nothing that was acknowledged is lost', async (t) => {
  const pair = await startPair(t, { isSynchronous: true })
  const service = await startService(t, pair, {
    ...withoutThumbnails(),
    KINORA_ALLOW_PRIVATE_NETWORKS: 'true',
  })
  const receiver = await startReceiver(t)
  await createWebhook(service.url, `${receiver.url}/hook`)
  const path = join(await temporaryFolder(t), 'clip.mp4')
  await makeClip(path, { size: '64x36', rate: '5', seconds: 2, audioCodec: 'aac' })
  const clip = await readFile(path)

  const uploaded: string[] = []
  const failures: number[] = []
  let isEnding = false
  const upload = async () => {
    while (!isEnding) {
      const created = await untilDone(
        () => call(`${service.url}/videos`, { method: 'POST', json: {} }),
        failures,
      )
      const { videoId } = created.body
      await untilDone(() => sendFile(sourceUrl(service, videoId), clip), failures)
      uploaded.push(videoId)
    }
  }
  const uploads = Promise.all([upload(), upload()])
  const moreUploads = async () => {
    const before = uploaded.length
    await waitFor(() => uploaded.length >= before + 3)
  }

  await moreUploads()
  for (const name of ['b', 'a']) {
    await pair.primary.kill()
    const killedAt = Date.now()
    await waitFor(() => failures.some((at) => at > killedAt))
    await pair.promote()
    assert.equal(pair.primary.name, name)
    await moreUploads()
    await pair.rebuild()
  }
  isEnding = true
  await uploads

  assert.equal(service.process.exitCode, null)
  for (const videoId of uploaded) {
    await assertSource(service.data, videoId, clip)
    const { qualities } = await waitForEncoding(service, videoId)
    assert.deepEqual(new Set(qualities.map(({ status }) => status)), new Set(['encoded']))
  }
  const events = await pair.primary.query(
    `select id, payload->>'videoId' as video, payload->>'encoding' || ' ' || (payload->>'quality') as name
     from events where type = 'video.encoding.quality.completed'`,
    'kinora',
  )
  const expected = uploaded.flatMap((videoId) => [`${videoId} hls 240p`, `${videoId} mp4 240p`])
  assert.deepEqual(events.map(({ video, name }) => `${video} ${name}`).sort(), expected.sort())
  const delivered = await receiver.waitForEvents('/hook', events.length)
  assert.deepEqual(
    delivered.map(({ headers }) => headers['webhook-id']).sort(),
    events.map(({ id }) => id).sort(),
  )
})

test('requests, jobs and a broadcast continue when the machine of the primary is gone without a trace', async (t) => {
  const pair = await startPair(t, { isSynchronous: true })
  const service = await startService(t, pair, withoutEncoding())
  const { liveStreamId, streamKey } = await createLiveStream(service, { record: false })
  const source = join(await temporaryFolder(t), 'source.flv')
  await makeClip(source, { size: '64x36', rate: '10', seconds: 4, audioCodec: 'aac' })
  const encoder = startFfmpegEncoder(t, service, streamKey, '-re', '-stream_loop', '-1', '-i', source)
  const lastSegment = async () => {
    const [row] = await pair.primary.query('select max(sequence) as last from live_segments', 'kinora')
    return row.last ?? 0
  }
  await waitFor(async () => (await lastSegment()) > 0)

  await pair.primary.pause()
  // They wait for a response of the old primary.
  const waiting = Promise.all(Array.from({ length: 30 }, () => call(`${service.url}/videos`)))
  await pair.promote()
  const { videoId } = (await untilDone(() => call(`${service.url}/videos`, { method: 'POST', json: {} }), []))
    .body
  for (const { status } of await waiting) assert.ok(status === 200 || status === 503, `${status}`)
  await untilDone(() => sendFile(sourceUrl(service, videoId), Buffer.from('not a film')), [])
  // A job examines the file.
  await waitFor(async () => {
    const [row] = await pair.primary.query('select state from encodings', 'kinora')
    return row?.state === 'failed'
  })

  const last = await lastSegment()
  await waitFor(async () => (await lastSegment()) > last + 1)
  const rows = await pair.primary.query(
    'select count(*)::int as count, max(sequence) - min(sequence) + 1 as numbers from live_segments',
    'kinora',
  )
  assert.equal(rows[0].count, rows[0].numbers, 'segments are missing')
  const [broadcast] = await pair.primary.query('select state, fence from broadcasts', 'kinora')
  assert.deepEqual([broadcast.state, broadcast.fence, encoder.process.exitCode], ['live', 1, null])
  assert.equal((await call(`${service.url}/live-streams/${liveStreamId}`)).body.broadcasting, true)
})

test('the doctor knows the replica, and a primary that was made read-only keeps no connections', async (t) => {
  const pair = await startPair(t)
  const service = await startService(t, pair, { KINORA_ROLES: 'api' })
  const doctor = await runKinora(['doctor', '--json'], settingsOf({ database: pair.url, data: service.data }))
  const message = `The primary 127.0.0.1:${pair.primary.place.port} has the asynchronous replica b (streaming, `
  assert.ok(doctor.stdout.includes(message), doctor.stdout)
  const create = () => call(`${service.url}/videos`, { method: 'POST', json: {} })
  assert.equal((await create()).status, 201)
  await pair.primary.query('alter system set default_transaction_read_only = on')
  await pair.primary.query('select pg_reload_conf()')
  await waitFor(async () => (await create()).status === 503)
  await pair.promote()
  await untilDone(create, [])
  await waitFor(async () => {
    const left = `select from pg_stat_activity where application_name like 'kinora%'`
    return (await pair.replica.query(left)).length === 0
  })
})

test('notifications of a primary that was made read-only are not relied on', async (t) => {
  const pair = await startPair(t)
  const listener = new Listener(new DatabaseServers(pair.url), 'listener', { warn() {} })
  await listener.open()
  t.after(listener.close)
  assert.equal(listener.isLive(), true)
  await pair.primary.query('alter system set default_transaction_read_only = on')
  await pair.primary.query('select pg_reload_conf()')
  await waitFor(() => !listener.isLive())
  await pair.promote()
  await waitFor(listener.isLive)
})

test('a start waits until a server accepts writes, and says which servers do not', async (t) => {
  const pair = await startPair(t)
  await pair.primary.kill()
  const starting = startService(t, pair, { KINORA_ROLES: 'api' })
  const data = await temporaryFolder(t)
  const waiting = spawnKinora({ ...settingsOf({ database: pair.url, data }), KINORA_ROLES: 'api' })
  t.after(() => waiting.kill())
  await waitFor(() => waiting.output().includes('waiting for the database'))
  const [{ port: dead }, { port: replica }] = [pair.primary.place, pair.replica.place]
  const message = `no server accepts writes \\(127.0.0.1:${dead}: .*, 127.0.0.1:${replica}: .*does not accept writes\\)`
  assert.match(waiting.output(), new RegExp(message))
  await pair.promote()
  assert.equal((await call(`${(await starting).url}/videos`)).status, 200)
})
