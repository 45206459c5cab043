import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, suite, test } from 'node:test'
import {
  call,
  kinora,
  productionKey,
  query,
  type Service,
  sharedKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { makeClip } from '../support/media/media.ts'
import { withoutThumbnails } from '../support/programs.ts'
import { createWebhook, startReceiver } from '../support/receiver.ts'
import { fakeProgram } from '../support/recovery.ts'
import {
  assertEncoded,
  createVideo,
  encodingOf,
  endsOf,
  eventsOf,
  uploadVideo,
  videoStatus,
  waitForEncoding,
  waitForEnds,
} from '../support/videos.ts'

// The events about the end of an encoding: `video.encoding.completed` and `video.encoding.failed`.

const service = sharedKinora({ ...withoutThumbnails(), KINORA_ALLOW_PRIVATE_NETWORKS: 'true' })
let folder: string
let clip: string
const text = Buffer.from('This is not a video.\n'.repeat(100))

before(async () => {
  folder = await temporaryFolder({ after() {} })
  clip = join(folder, 'clip.mp4')
  await makeClip(clip, { size: '320x240', rate: '4', seconds: 2 })
})

const change = async (videoId: string, json: object) =>
  assert.equal((await call(`${service.url}/videos/${videoId}`, { method: 'PATCH', json })).status, 200)

/** Waits for all jobs of a video, which would report its end again. */
const waitForJobs = ({ database }: Service, videoId: string) =>
  waitFor(
    async () =>
      (
        await query(database, `select from pgboss.job where data->>'videoId' = $1 and state < 'completed'`, [
          videoId,
        ])
      ).length === 0,
  )

test('a video is reported once, after its MP4, and not again if an MP4 is added or removed', async (t) => {
  const receiver = await startReceiver(t)
  await createWebhook(service.url, `${receiver.url}/ends`, [
    'video.encoding.completed',
    'video.encoding.failed',
  ])
  const videoId = await uploadVideo(service, clip)
  assert.deepEqual(await waitForEnds(service.database, videoId), ['completed'])
  assert.deepEqual(
    await eventsOf(service.database, videoId),
    ['hls 240p', 'mp4 240p'],
    'it is the last event',
  )
  const [first] = await receiver.waitForEvents('/ends', 1)
  const unreadable = await uploadVideo(service, text)
  const [, second] = await receiver.waitForEvents('/ends', 2)
  const { emittedAt, ...completed } = JSON.parse(first!.body)
  assert.deepEqual(completed, { type: 'video.encoding.completed', videoId })
  assert.ok(Math.abs(Date.parse(emittedAt) - Date.now()) < 60_000)
  const { emittedAt: _, ...failed } = JSON.parse(second!.body)
  const failure = 'The file is not a video that can be read.'
  assert.deepEqual(failed, { type: 'video.encoding.failed', videoId: unreadable, failure })

  await change(videoId, { mp4Support: false })
  await waitFor(async () => (await encodingOf(service, videoId)).qualities.length === 1)
  await change(videoId, { mp4Support: true })
  await waitFor(async () => (await encodingOf(service, videoId)).qualities.length === 2)
  await assertEncoded(service, videoId, ['hls 240p', 'mp4 240p'])
  await waitForJobs(service, videoId)
  assert.deepEqual(await endsOf(service.database, videoId), ['completed'])
})

test('a file that cannot be read is reported with the reason of the status, and again after a retry', async () => {
  const videoId = await uploadVideo(service, text)
  const [ended] = await waitForEnds(service.database, videoId)
  const [quality] = (await waitForEncoding(service, videoId)).qualities
  assert.equal(ended, `failed: ${quality?.failure}`)
  const { status } = await call(`${service.url}/videos/${videoId}/retry`, { method: 'POST' })
  assert.equal(status, 202)
  assert.deepEqual(await waitForEnds(service.database, videoId, 2), [ended, ended])
})

test('a file that cannot be fetched is reported with the reason of the status', async (t) => {
  const receiver = await startReceiver(t, (_, response) => response.writeHead(404).end())
  const videoId = await createVideo(service, { source: `${receiver.url}/film.mp4` })
  const [ended] = await waitForEnds(service.database, videoId)
  assert.equal(ended, `failed: ${(await videoStatus(service, videoId)).ingest.failure}`)
  assert.equal(ended, 'failed: The server responded with status 404.')
})

suite('the end of a discarded video', () => {
  test('is reported when it is restored', async (t) => {
    const gate = join(folder, 'gate')
    await writeFile(gate, '')
    const wait = `while [ -e '${gate}' ]; do sleep 0.05; done`
    const restoring = await kinora(t, {
      KINORA_RESTORE_DAYS: '1',
      KINORA_FFMPEG: await fakeProgram(folder, 'ffmpeg', `case "$*" in */output.mp4*) ${wait};; esac`),
    })
    const { url, database } = restoring
    const videoId = await uploadVideo(restoring, clip)
    await waitFor(async () => (await eventsOf(database, videoId)).length === 1)
    await call(`${url}/videos/${videoId}`, { method: 'DELETE' })
    await rm(gate)
    await waitFor(async () => (await eventsOf(database, videoId)).length === 2)
    await waitForJobs(restoring, videoId)
    assert.deepEqual(await endsOf(database, videoId), [])

    const json = { discarded: false }
    await call(`${url}/discarded/videos/${videoId}`, { method: 'PATCH', json, key: productionKey })
    assert.deepEqual(await waitForEnds(database, videoId), ['completed'])
    await waitForJobs(restoring, videoId)
    assert.deepEqual(await endsOf(database, videoId), ['completed'])
  })
})
