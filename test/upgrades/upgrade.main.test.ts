import assert from 'node:assert/strict'
import { createPrivateKey } from 'node:crypto'
import { cp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { SignJWT } from 'jose'
import {
  assertNoErrorsLogged,
  call,
  type Kinora,
  sandboxKey,
  sendFile,
  startKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { startReceiver } from '../support/receiver.ts'
import {
  ask,
  type Fixture,
  fixtureSettings,
  hashOf,
  lastChunk,
  lastRange,
  listFixtures,
  load,
  loadMedia,
  playlistOf,
  readFixture,
  unpackFixture,
} from '../support/upgrade-fixture.ts'
import { assertEncoded, sourceUrl } from '../support/videos.ts'

// The data folders of released versions, upgraded by this one.

async function unpack(t: TestContext, version: string): Promise<string> {
  const data = await temporaryFolder(t)
  await unpackFixture(version, data)
  return data
}

async function start(t: TestContext, data: string, env: Record<string, string> = {}): Promise<Kinora> {
  const service = await startKinora({ KINORA_DATA_DIR: data, ...fixtureSettings, ...env })
  t.after(() => service.stop())
  return service
}

/** Newer versions may add fields. */
function assertContains(actual: unknown, expected: unknown, path: string): void {
  if (typeof expected !== 'object' || expected === null) {
    assert.equal(actual, expected, path)
    return
  }
  assert.ok(typeof actual === 'object' && actual !== null, `${path}: ${actual}`)
  if (Array.isArray(expected)) assert.equal((actual as unknown[]).length, expected.length, path)
  for (const [key, value] of Object.entries(expected))
    assertContains((actual as Record<string, unknown>)[key], value, `${path} ${key}`)
}

async function assertAnswers(service: Kinora, fixture: Fixture): Promise<void> {
  for (const [path, answer] of Object.entries(fixture.answers))
    assertContains(await ask(service, path), answer, path)
}

async function assertMedia(service: Kinora, { media, files }: Fixture): Promise<void> {
  for (const [videoId, hashes] of Object.entries(media))
    assert.deepEqual(await loadMedia(await playlistOf(service, videoId)), hashes)
  for (const [path, hash] of Object.entries(files))
    assert.equal(hashOf(await load(`${service.url}${path}`)), hash, path)
}

const backupsIn = async (data: string) => (await readdir(join(data, 'backups'))).sort()

for (const version of listFixtures()) {
  const fixture = readFixture(version)

  test(`a data folder of version ${version} keeps everything, after the upgrade and after the upgrade of its backup`, async (t) => {
    const data = await unpack(t, version)
    // Without a worker, so that nothing changes.
    const service = await start(t, data, { KINORA_ROLES: 'api' })
    await assertAnswers(service, fixture)
    await assertMedia(service, fixture)
    await service.stop()

    const [backup, ...others] = await backupsIn(data)
    assert.deepEqual(others, [])
    const folder = join(data, 'backups', backup!)
    assert.match(service.output(), new RegExp(`"backup":"${folder}"`))
    for (const path of [join(data, 'backups'), folder]) assert.equal((await stat(path)).mode & 0o777, 0o700)
    // The steps of the file, as an older version that starts next.
    const steps = await readFile(join(folder, 'README.txt'), 'utf8')
    assert.equal(/KINORA_SWEEP=report/.test(steps), version === '0.1.0')
    const [, from = '', to = ''] = /cp -a (\S+) (\S+)/.exec(steps) ?? []
    await rm(to, { recursive: true })
    await cp(from, to, { recursive: true })
    const again = await start(t, data, { KINORA_ROLES: 'api' })
    await assertAnswers(again, fixture)
    await again.stop()
    const [newer, ...older] = await backupsIn(data)
    assert.deepEqual(older, [], 'one backup of each version is kept')
    assert.notEqual(newer, backup)
    for (const each of [service, again]) assertNoErrorsLogged(each)
  })

  test(`work in progress of version ${version} continues after the upgrade, and its keys and tokens work`, async (t) => {
    const receiver = await startReceiver(t)
    const data = await unpack(t, version)
    const api = await start(t, data, { KINORA_ROLES: 'api' })
    const { webhookId } = fixture
    const json = { url: `${receiver.url}/hook` }
    assert.equal((await call(`${api.url}/webhooks/${webhookId}`, { method: 'PATCH', json })).status, 200)
    await api.stop()

    const service = await start(t, data)
    const { interruptedVideo, unfinishedVideo, discardedVideo, privateVideo, recordedVideo } = fixture
    const sent = await sendFile(sourceUrl(service, unfinishedVideo), lastChunk, { range: lastRange() })
    assert.equal(sent.status, 201, sent.text)
    for (const videoId of [interruptedVideo, unfinishedVideo]) {
      await assertEncoded(service, videoId, ['hls 240p', 'mp4 240p'])
      await loadMedia(await playlistOf(service, videoId))
    }
    const events = (await receiver.waitForEvents('/hook', 4)).map(({ body }) => JSON.parse(body))
    assert.deepEqual(
      events.map((event) => `${event.videoId} ${event.encoding}`).sort(),
      [interruptedVideo, unfinishedVideo].flatMap((id) => [`${id} hls`, `${id} mp4`]).sort(),
    )

    const old = { key: fixture.apiKey }
    assert.equal((await call(`${service.url}/videos/${recordedVideo}`, old)).status, 200)
    const sandbox = await call(`${service.url}/sandbox/videos/${fixture.sandboxVideo}`, { key: sandboxKey })
    assert.equal(sandbox.status, 200)
    const film = await load((await call(`${service.url}/videos/${fixture.publicVideo}`)).body.assets.mp4)
    const uploaded = await sendFile(`${service.url}/upload?token=${fixture.uploadToken}`, film, { key: '' })
    assert.equal(uploaded.status, 201, uploaded.text)
    const token = await new SignJWT({ sub: privateVideo, exp: Math.floor(Date.now() / 1000) + 3600 })
      .setProtectedHeader({ alg: 'ES256', kid: fixture.signingKey.id })
      .sign(createPrivateKey(fixture.signingKey.privateKey))
    const signed = `${service.url}/vod/${privateVideo}/token/${token}/hls/manifest.m3u8`
    assert.deepEqual(await loadMedia(signed), fixture.media[privateVideo])
    const restored = await call(`${service.url}/discarded/videos/${discardedVideo}`, {
      method: 'PATCH',
      json: { discarded: false },
    })
    assert.equal(restored.status, 200, restored.text)
    await loadMedia(await playlistOf(service, discardedVideo))
    // The job that reports an end may not have run yet, and the upload above may be encoded already.
    let completed: string[] = []
    await waitFor(async () => {
      const { body } = await call(`${service.url}/events?type=video.encoding.completed`)
      completed = body.data.map(({ payload }: { payload: { videoId: string } }) => payload.videoId)
      return [interruptedVideo, unfinishedVideo].every((id) => completed.includes(id))
    })
    assert.deepEqual(
      completed.filter((id) => id !== uploaded.body.videoId).sort(),
      [interruptedVideo, unfinishedVideo].sort(),
      'only what ends after the upgrade is reported',
    )
    assertNoErrorsLogged(service)
  })
}
