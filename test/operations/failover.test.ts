import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type ApiResponse,
  assertSource,
  call,
  sendFile,
  settingsOf,
  startKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { makeClip } from '../support/media/media.ts'
import { localPlaces, PostgresPair } from '../support/postgres-pair.ts'
import { withoutThumbnails } from '../support/programs.ts'
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
