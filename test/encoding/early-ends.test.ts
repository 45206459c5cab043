import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { abandonedAfterMs, removeAbandonedUploads } from '../../server/uploads/source/remove-abandoned.ts'
import { assertBegun, assertSame } from '../support/early-results.ts'
import {
  assertNothingLeft,
  earlyClip,
  heavyH264,
  uploadBeginning,
  waitForBeginning,
  waitUntilPlayable,
} from '../support/early-uploads.ts'
import {
  call,
  kinora,
  MiB,
  sendFile,
  settingsOf,
  sharedKinora,
  startKinora,
  temporaryFolder,
} from '../support/harness.ts'
import { openJobContext } from '../support/job-context.ts'
import { ffmpeg } from '../support/media/media.ts'
import { splitArgs } from '../support/media/sources.ts'
import { withoutThumbnails } from '../support/programs.ts'
import { createVideo, encodingOf, media, sourceUrl, uploadVideo, videoStatus } from '../support/videos.ts'

// Sources whose rest does not arrive as their beginning promised, or not at all.

const settings = { ...withoutThumbnails(), KINORA_RESTORE_DAYS: '0' }
const service = sharedKinora(settings)
let folder: string
/** Larger than a chunk. */
let content: Buffer
const chunk = 5 * MiB

before(async () => {
  folder = await temporaryFolder({ after() {} })
  const path = join(folder, 'film.mp4')
  await ffmpeg(...earlyClip(24), ...heavyH264(), ...splitArgs('-c:a aac -movflags +faststart'), path)
  content = await readFile(path)
})

const rangeOf = (from: number, to: number, total: number) => `bytes ${from}-${to - 1}/${total}`

/** Uploads a first chunk and waits until it is encoded as far as possible. */
async function uploadFirstChunk(target: typeof service = service): Promise<string> {
  const videoId = await createVideo(target)
  const range = rangeOf(0, chunk, content.length)
  const sent = await sendFile(sourceUrl(target, videoId), content.subarray(0, chunk), { range })
  assert.equal(sent.status, 201, sent.text)
  await waitUntilPlayable(target, videoId)
  await waitForBeginning(target, videoId)
  return videoId
}

test('a file that ends before its index says is encoded as it would have been at once', async () => {
  const short = content.subarray(0, Math.floor(0.9 * content.length))
  const { videoId, upload } = await uploadBeginning(service, short)
  assert.equal((await upload.end()).status, 201)
  await assertSame(service, videoId, { folder, expectedId: await uploadVideo(service, short) })
})

test('a chunk with another total, or other content, is rejected, and the beginning stays', async () => {
  const videoId = await uploadFirstChunk()
  const url = sourceUrl(service, videoId)
  const shorter = content.length - 1
  const other = Buffer.from(content.subarray(0, chunk)).fill(7, chunk - 1_000)
  const rejected = await Promise.all([
    sendFile(url, content.subarray(chunk, shorter), { range: rangeOf(chunk, shorter, shorter) }),
    sendFile(url, other, { range: rangeOf(0, chunk, content.length) }),
  ])
  assert.deepEqual(
    rejected.map(({ status }) => status),
    [400, 400],
  )
  await assertBegun(service, videoId)
  const { status } = await sendFile(url, content.subarray(chunk), {
    range: rangeOf(chunk, content.length, content.length),
  })
  assert.equal(status, 201)
  await assertSame(service, videoId, { folder, expectedId: await uploadVideo(service, content) })
})

test('after a week without new data, nothing is left of a video that was playable', async (t) => {
  const videoId = await uploadFirstChunk()
  const deps = await openJobContext(t, service)
  const now = () => new Date(Date.now() + abandonedAfterMs + 60_000)
  await removeAbandonedUploads({ ...deps, now })
  await assertNothingLeft(service, videoId)
  assert.equal((await media(service.url, videoId, 'hls/manifest.m3u8')).status, 202)
  assert.equal((await media(service.url, videoId, 'hls/240p/video-0.m4s')).status, 404)
  const { ingest, encoding } = await videoStatus(service, videoId)
  assert.equal(ingest, null)
  assert.deepEqual([encoding.playable, encoding.qualities], [false, []])
  const config = await call(`${service.url}/vod/${videoId}/config.json`, { key: '' })
  assert.deepEqual([config.body.state, config.body.isUploading], ['empty', false])
})

test('a service that is killed and started without it finishes the upload', async (t) => {
  const first = await kinora(t, settings)
  const videoId = await uploadFirstChunk(first)
  const exited = once(first.process, 'exit')
  first.process.kill('SIGKILL')
  await exited
  const started = await startKinora({
    ...settings,
    ...settingsOf(first),
    KINORA_ENCODE_DURING_UPLOAD: 'off',
  })
  t.after(() => started.stop())
  const second = { ...first, ...started }
  assert.equal((await encodingOf(second, videoId)).playable, true)
  const range = rangeOf(chunk, content.length, content.length)
  const sent = await sendFile(sourceUrl(second, videoId), content.subarray(chunk), { range })
  assert.equal(sent.status, 201, sent.text)
  await assertSame(second, videoId, { folder, expectedId: await uploadVideo(second, content) })
})
