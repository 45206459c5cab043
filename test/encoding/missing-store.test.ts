import assert from 'node:assert/strict'
import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import {
  assertProblem,
  call,
  identifyStore,
  kinora,
  query,
  sourcePath,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { openJobContext } from '../support/job-context.ts'
import { type GatedFfmpeg, gatedFfmpeg } from '../support/media/gated-ffmpeg.ts'
import { makeClip } from '../support/media/media.ts'
import { createDeployment } from '../support/recovery.ts'
import { assertEncoded, uploadVideo, waitForEncoding } from '../support/videos.ts'

// The disk of the file store is not mounted: its folder is there, but empty. No file is lost.

const expected = ['hls 240p', 'mp4 240p']
let clip: string
let program: GatedFfmpeg

before(async () => {
  const folder = await temporaryFolder({ after() {} })
  clip = join(folder, 'clip.mp4')
  await makeClip(clip, { size: '426x240', rate: '6', seconds: 3, audioCodec: 'aac' })
  program = await gatedFfmpeg(folder)
})

async function unmount(data: string): Promise<void> {
  await rename(join(data, 'files'), join(data, 'disk'))
  await mkdir(join(data, 'files'))
}

async function mount(data: string): Promise<void> {
  await rm(join(data, 'files'), { recursive: true })
  await rename(join(data, 'disk'), join(data, 'files'))
}

test('a video whose encoding has begun waits until the file store is back', async (t) => {
  const deployment = await createDeployment(t, { KINORA_FFMPEG: program.path, KINORA_ENCODE_SLOTS: '1' })
  const { database, data } = deployment
  const stopped = await deployment.start()
  await identifyStore({ ...stopped, database, data })
  await program.encodeUntil(0)
  const videoId = await uploadVideo(stopped, clip)
  const leased = 'select from chunks where lease_owner is not null'
  await waitFor(async () => (await query(database, leased)).length > 0)
  await stopped.stop()
  await unmount(data)
  await program.encodeAll()
  const service = await deployment.start()
  // The sweep does not take the empty folder for a new store.
  await waitFor(() => /the sweep does not touch the file store/.test(service.output()))
  const retried = 'select from chunks where not_before > now() and lease_owner is null'
  const wait = `update chunks set not_before = now() where lease_owner is null`
  for (let attempt = 0; attempt < 2; attempt++) {
    await query(database, wait)
    await waitFor(async () => (await query(database, retried)).length > 0)
  }

  await mount(data)
  await query(database, wait)
  await assertEncoded(service, videoId, expected)
})

test('a video that is about to be examined waits, and a retry is refused for the time being', async (t) => {
  const service = await kinora(t, { KINORA_FFMPEG: program.path })
  const { database, data } = service
  await identifyStore(service)
  const [videoId, failedId] = [await uploadVideo(service, clip), await uploadVideo(service, clip)]
  for (const each of [videoId, failedId]) await waitForEncoding(service, each)
  // What runs after the encoding needs the store too.
  const jobs = `select from pgboss.job where state in ('created', 'active', 'retry')
    and name in ('plan-encoding', 'finish-encoding')`
  await waitFor(async () => (await query(database, jobs)).length === 0)
  await query(database, 'delete from encodings where video_id = $1', [videoId])
  await query(database, `update encodings set sound_failure = 'x' where video_id = $1`, [failedId])
  await unmount(data)
  const { queue, db } = await openJobContext(t, service)
  await queue.send(db, 'plan-encoding', { videoId })
  const failures = `select from pgboss.job where name = 'plan-encoding' and state = 'retry'`
  await waitFor(async () => (await query(database, failures)).length > 0)
  const retry = () => call(`${service.url}/videos/${failedId}/retry`, { method: 'POST' })
  assert.equal((await retry()).status, 503)

  await mount(data)
  await query(database, `update pgboss.job set start_after = now() where state = 'retry'`)
  await assertEncoded(service, videoId, expected)
  await rm(sourcePath(data, failedId))
  assertProblem(await retry(), 409, 'source-missing')
})
