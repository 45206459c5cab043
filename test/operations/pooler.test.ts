import assert from 'node:assert/strict'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { openDatabase } from '../../server/database.ts'
import { exclusively } from '../../server/lib/db.ts'
import { createLog } from '../../server/lib/log.ts'
import { readConfig } from '../../server/read-config.ts'
import { logIn } from '../support/browser/dashboard.ts'
import {
  assertNoErrorsLogged,
  assertSource,
  call,
  runKinora,
  type Service,
  settingsOf,
  spawnKinora,
  startKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { startFfmpegEncoder } from '../support/live/encoders.ts'
import { createLiveStream } from '../support/live/live-streams.ts'
import { makeClip } from '../support/media/media.ts'
import { startPgbouncer, withoutPgbouncer } from '../support/pgbouncer.ts'
import { localPlaces } from '../support/postgres-pair.ts'
import { PostgresServer } from '../support/postgres-server.ts'
import { createWebhook, startReceiver } from '../support/receiver.ts'
import { makeVideo, onDisk, pathOf } from '../support/stored-video.ts'
import { createVideo, uploadVideo, waitForEncoding } from '../support/videos.ts'
import { createViewableVideo, viewing } from '../support/viewings.ts'

describe('behind PgBouncer in transaction mode', { skip: withoutPgbouncer }, () => {
  let service: Service
  let env: Record<string, string>
  let clip: string
  const ends: (() => unknown)[] = []
  before(async () => {
    const t = { after: (end: () => unknown) => ends.unshift(end) }
    const folder = await temporaryFolder(t)
    const [place] = await localPlaces()
    const postgres = new PostgresServer('a', join(folder, 'a'), place)
    await postgres.prepare()
    await postgres.create()
    await postgres.start()
    t.after(() => postgres.kill())
    await postgres.query('create database kinora')
    const database = `postgres://kinora@127.0.0.1:${place.port}/kinora`
    const data = join(folder, 'data')
    await mkdir(data)
    env = {
      ...settingsOf({ database: await startPgbouncer(t, database), data }),
      KINORA_DATABASE_DIRECT_URL: database,
      KINORA_ALLOW_PRIVATE_NETWORKS: 'true',
    }
    const started = await startKinora(env)
    t.after(() => started.stop())
    service = { ...started, database, data }
    clip = join(folder, 'clip.mp4')
    await makeClip(clip, { size: '64x36', rate: '10', seconds: 2, audioCodec: 'aac' })
  })
  after(async () => {
    for (const end of ends) await end()
  })

  test('uploads are stored, encoded, and reported to webhooks', async (t) => {
    const receiver = await startReceiver(t)
    await createWebhook(service.url, `${receiver.url}/hook`)
    const uploads = Array.from({ length: 4 }, () => uploadVideo(service, clip))
    for (const videoId of await Promise.all(uploads)) {
      await assertSource(service.data, videoId, await readFile(clip))
      const { qualities } = await waitForEncoding(service, videoId)
      assert.ok(qualities.every(({ status }) => status === 'encoded'))
    }
    assert.equal((await receiver.waitForEvents('/hook', 8)).length, 8)
  })

  test('more requests at once than PgBouncer has connections are answered, with searches and lists', async () => {
    const titles = Array.from({ length: 60 }, (_, i) => `Pooled film number ${i}`)
    await Promise.all(titles.map((title) => createVideo(service, { title, tags: ['pooled'] })))
    const found = titles.map(async (title) => {
      const { body, status, text } = await call(`${service.url}/videos?title=${encodeURIComponent(title)}`)
      assert.equal(status, 200, text)
      return body.data.some((video: { title: string }) => video.title === title)
    })
    assert.ok((await Promise.all(found)).every(Boolean))
    const all = await call(`${service.url}/videos?tags[]=pooled&pageSize=100`)
    assert.equal(all.body.pagination.itemsTotal, titles.length)
    // The settings of lists do not remain in the connections of others.
    assert.ok(await createVideo(service))
  })

  test('reports of players become sessions and numbers', async () => {
    const videoId = await createViewableVideo(service)
    const { event, report } = viewing(videoId)
    const sent = await call(`${service.url}/collector/vod`, {
      method: 'POST',
      key: '',
      headers: { 'content-type': 'text/plain' },
      body: JSON.stringify(report([event(1, 'ready', { at: 0 }), event(2, 'play', { at: 0 })])),
    })
    assert.equal(sent.status, 200, sent.text)
    const sessions = await call(`${service.url}/analytics/videos/${videoId}`)
    assert.equal(sessions.body.pagination.itemsTotal, 1, sessions.text)
  })

  test('a broadcast is on air, and the dashboard is told', async (t) => {
    const dashboard = await logIn(service)
    const controller = new AbortController()
    t.after(() => controller.abort())
    const page = await fetch(`${service.url}/dashboard/changes/production`, {
      headers: { cookie: dashboard.cookie },
      signal: controller.signal,
    })
    let changes = ''
    const reading = (async () => {
      for await (const chunk of page.body!.pipeThrough(new TextDecoderStream())) changes += chunk
    })()
    reading.catch(() => {})
    const { liveStreamId, streamKey, assets } = await createLiveStream(service, { record: false })
    startFfmpegEncoder(t, service, streamKey, '-re', '-stream_loop', '-1', '-i', clip)
    await waitFor(async () => (await fetch(assets.hls)).status === 200)
    await waitFor(() => changes.includes(liveStreamId))
  })

  test('a revoked key is refused at once, and commands work', async () => {
    const named = ['--environment', 'production', '--name', 'short-lived', '--json']
    const made = await runKinora(['keys', 'create', ...named], env)
    assert.equal(made.code, 0, made.stderr)
    const { key } = JSON.parse(made.stdout)
    const status = async () => (await call(`${service.url}/videos`, { key })).status
    assert.deepEqual([await status(), await status()], [200, 200])
    assert.equal((await runKinora(['keys', 'revoke', ...named], env)).code, 0)
    await waitFor(async () => (await status()) === 401)
    const backup = await runKinora(['backup', join(service.data, 'backup')], env)
    assert.equal(backup.code, 0, backup.stderr)
    const { stdout } = await runKinora(['doctor'], env)
    assert.match(stdout, /^✓ database connections +Not examined: the pooler/m)
  })

  test('two processes do not hold the same lock', async (t) => {
    const config = readConfig(env)
    const opened = [1, 2].map(() => openDatabase(config, createLog('silent', false)))
    const [one, two] = await Promise.all(opened)
    t.after(() => Promise.all([one!.close(), two!.close()]))
    let isHeldTwice = false
    await exclusively(one!.locks, 'test', async () => {
      isHeldTwice = await exclusively(two!.locks, 'test', async () => {})
    })
    assert.equal(isHeldTwice, false)
  })

  test('a pooler without a URL around it is a warning', async () => {
    const { KINORA_DATABASE_DIRECT_URL: _, ...pooled } = env
    const warned = spawnKinora(pooled)
    await waitFor(() => warned.output().includes('leads to a connection pooler'), warned.output)
    await warned.kill()
    assert.doesNotMatch(service.output(), /leads to a connection pooler/)
  })

  test('without a URL around it, a process does not rely on notifications', async (t) => {
    const { KINORA_DATABASE_DIRECT_URL: _, ...pooled } = env
    const wrong = await startKinora({ ...pooled, KINORA_ROLES: 'api' })
    t.after(() => wrong.kill())
    const videoId = await makeVideo(service, onDisk(service))
    const statusOfSegment = async () => (await fetch(wrong.url + pathOf(videoId, 1))).status
    assert.deepEqual([await statusOfSegment(), await statusOfSegment()], [200, 200])
    const json = { public: false }
    assert.equal((await call(`${service.url}/videos/${videoId}`, { method: 'PATCH', json })).status, 200)
    assert.equal(await statusOfSegment(), 403, wrong.output())
  })

  test('two URLs of different databases are refused', async () => {
    const other = new URL(service.database)
    other.pathname = '/postgres'
    const wrong = spawnKinora({ ...env, KINORA_DATABASE_DIRECT_URL: other.href })
    await waitFor(() => wrong.process.exitCode !== null)
    assert.match(wrong.output(), /lead to different databases/)
  })

  test('nothing failed', () => assertNoErrorsLogged(service))
})
