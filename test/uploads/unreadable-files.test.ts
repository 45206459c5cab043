import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, before, test } from 'node:test'
import { newSource, replaceUpload } from '../../server/uploads/source/begin.ts'
import {
  assertNoErrorsLogged,
  assertProblem,
  assertSource,
  call,
  fileExists,
  MiB,
  query,
  sandboxKey,
  sendFile,
  sharedKinora,
  sourcePath,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { openJobContext } from '../support/job-context.ts'
import { makeClip } from '../support/media/media.ts'
import { withoutThumbnails } from '../support/programs.ts'
import { createDeployment } from '../support/recovery.ts'
import { assertNotFound, patch, tokenUploads } from '../support/token-uploads.ts'
import {
  assertEncoded,
  createVideo,
  eventsOf,
  sourceUrl,
  uploadVideo,
  videoStatus,
  waitForEnds,
} from '../support/videos.ts'

// If the uploaded file cannot be read, another file can be uploaded to the same video.

const service = sharedKinora({ ...withoutThumbnails(), KINORA_ALLOW_PRIVATE_NETWORKS: 'true' })
const text = Buffer.from('This is not a video.\n'.repeat(100))
const failed = 'failed: The file is not a video that can be read.'
const encoded = ['hls 240p', 'mp4 240p']
let film: Buffer
/** The same video in a file of several chunks. */
let long: Buffer
const noise = randomBytes(6 * MiB)

before(async () => {
  const clip = join(await temporaryFolder({ after() {} }), 'clip.mp4')
  await makeClip(clip, { size: '320x240', rate: '4', seconds: 2 })
  film = await readFile(clip)
  long = Buffer.concat([film, freeBox(6 * MiB)])
})

afterEach(() => assertNoErrorsLogged(service))

/** An MP4 box that players skip. */
function freeBox(bytes: number): Buffer {
  const box = Buffer.alloc(8 + bytes)
  box.writeUInt32BE(box.length)
  box.write('free', 4)
  return box
}

const { newToken, createToken, send, createTus } = tokenUploads(service)

const upload = (videoId: string, content: Buffer, range?: string) =>
  sendFile(sourceUrl(service, videoId), content, range ? { range } : {})

/** Splits a file in two chunks, with their ranges. */
function inChunks(file: Buffer, form: 'bytes' | 'parts'): [content: Buffer, range: string][] {
  const size = 5 * MiB
  const [first, second] = [file.subarray(0, size), file.subarray(size)]
  if (form === 'parts') return [first, second].map((content, i) => [content, `part ${i + 1}/2`])
  return [
    [first, `bytes 0-${size - 1}/${file.length}`],
    [second, `bytes ${size}-${file.length - 1}/${file.length}`],
  ]
}

/** Uploads a file that cannot be read, and waits until that is reported. */
async function uploadUnreadable(content = text): Promise<string> {
  const videoId = await uploadVideo(service, content)
  assert.deepEqual(await waitForEnds(service.database, videoId), [failed])
  return videoId
}

async function assertReplaced(videoId: string, content: Buffer): Promise<void> {
  assert.deepEqual(await waitForEnds(service.database, videoId, 2), [failed, 'completed'])
  await assertEncoded(service, videoId, encoded)
  assert.deepEqual(await eventsOf(service.database, videoId), encoded)
  await assertSource(service.data, videoId, content)
}

test('another file replaces a file that cannot be read', async () => {
  const videoId = await uploadUnreadable()
  const sent = await upload(videoId, film)
  assert.deepEqual([sent.status, sent.body?.videoId], [201, videoId], sent.text)
  await assertReplaced(videoId, film)
  const { ingest, encoding } = await videoStatus(service, videoId)
  assert.deepEqual([ingest.status, ingest.filesize, encoding.playable], ['uploaded', film.length, true])
})

test('a second file that cannot be read is reported like the first, and can be replaced as well', async () => {
  const videoId = await uploadUnreadable()
  assert.equal((await upload(videoId, text)).status, 201)
  assert.deepEqual(await waitForEnds(service.database, videoId, 2), [failed, failed])
  assert.equal((await upload(videoId, film)).status, 201)
  assert.deepEqual(await waitForEnds(service.database, videoId, 3), [failed, failed, 'completed'])
  await assertSource(service.data, videoId, film)
})

for (const form of ['bytes', 'parts'] as const)
  test(`another file replaces it in chunks, as ${form}`, async () => {
    const videoId = await uploadUnreadable()
    const [first, second] = inChunks(long, form) as [[Buffer, string], [Buffer, string]]
    assert.equal((await upload(videoId, ...first)).status, 201)
    await waitFor(async () => !(await fileExists(sourcePath(service.data, videoId))))
    const { ingest, encoding } = await videoStatus(service, videoId)
    assert.deepEqual([ingest.status, encoding.qualities], ['uploading', []])
    assert.equal((await upload(videoId, ...second)).status, 201)
    await assertReplaced(videoId, long)
  })

test('a later chunk begins no other file, and a repeated one is accepted as before', async () => {
  for (const form of ['bytes', 'parts'] as const) {
    const videoId = await createVideo(service)
    const [first, second] = inChunks(noise, form) as [[Buffer, string], [Buffer, string]]
    for (const chunk of [first, second]) assert.equal((await upload(videoId, ...chunk)).status, 201)
    assert.deepEqual(await waitForEnds(service.database, videoId), [failed])
    assert.equal((await upload(videoId, ...second)).status, 201)
    const [content, range] = inChunks(long, form)[1]!
    const response = await upload(videoId, content, range)
    assert.equal(response.status, 400, response.text)
    assert.equal((await videoStatus(service, videoId)).ingest.status, 'uploaded')
    assert.deepEqual(await waitForEnds(service.database, videoId), [failed])
  }
})

test('another file replaces it over tus', async () => {
  const videoId = await uploadUnreadable()
  const created = await createTus(undefined, videoId, film.length)
  assert.equal(created.status, 201, created.text)
  assert.equal(await patch(created.headers.get('location'), film), 204)
  await assertReplaced(videoId, film)
})

test('another file replaces an unreadable file that was sent over tus', async () => {
  const created = await createTus(undefined, undefined, text.length)
  const [videoId, location] = [created.headers.get('x-video-id')!, created.headers.get('location')!]
  assert.equal(await patch(location, text), 204)
  assert.deepEqual(await waitForEnds(service.database, videoId), [failed])
  assert.equal((await upload(videoId, film)).status, 201)
  await assertReplaced(videoId, film)
  const { status } = await call(location, { method: 'HEAD', headers: { 'tus-resumable': '1.0.0' } })
  assert.equal(status, 404)
})

for (const position of ['before', 'after'] as const)
  test(`a token replaces the file it has uploaded, with the id ${position} the file`, async () => {
    const token = await newToken()
    const { videoId } = (await send(token, text)).body
    assert.deepEqual(await waitForEnds(service.database, videoId), [failed])
    const sent = await send(token, film, { [position]: { videoId } })
    assert.deepEqual([sent.status, sent.body?.videoId], [201, videoId], sent.text)
    await assertReplaced(videoId, film)
  })

test('a token that is bound to the video replaces its file, and can be created for that', async () => {
  const videoId = await uploadUnreadable()
  const sent = await send(await newToken({ videoId }), film)
  assert.deepEqual([sent.status, sent.body?.videoId], [201, videoId], sent.text)
  await assertReplaced(videoId, film)
  assertProblem(await createToken({ videoId }), 400, 'invalid-attribute', 'videoId')
})

test('a token that was checked before the file arrived cannot replace it', async (t) => {
  const videoId = await uploadUnreadable()
  const context = await openJobContext(t, service)
  const begin = (token: string) =>
    replaceUpload(context, videoId, (handle) =>
      newSource(
        videoId,
        'whole',
        handle,
        { created_by: token, token, filename: null, address: null },
        new Date(),
      ),
    )
  await assert.rejects(begin(await newToken()), { slug: 'video-source-already-uploaded' })
  assert.equal((await videoStatus(service, videoId)).ingest.status, 'uploaded')
  assert.ok(await begin(await newToken({ videoId })))
})

test('tokens of other videos and environments cannot replace it', async () => {
  const videoId = await uploadUnreadable()
  const others = [await newToken(), await newToken({ videoId: await createVideo(service) })]
  for (const token of others) {
    assertNotFound(await send(token, film, { before: { videoId } }))
    assertNotFound(await send(token, film, { after: { videoId } }))
    assertNotFound(await createTus(token, videoId, film.length))
  }
  const token = await newToken({}, '/sandbox', sandboxKey)
  const url = `${service.url}/sandbox/upload?token=${token}`
  assertNotFound(await sendFile(url, film, { key: '', before: { videoId } }))
  const response = await sendFile(sourceUrl({ url: `${service.url}/sandbox` }, videoId), film, {
    key: sandboxKey,
  })
  assertNotFound(response)
  assert.deepEqual(await waitForEnds(service.database, videoId), [failed])
  await assertSource(service.data, videoId, text)
})

test('of several files that replace it at once, one is stored', async () => {
  const videoId = await uploadUnreadable()
  const files = [1, 2, 3].map((bytes) => Buffer.concat([film, freeBox(bytes)]))
  const responses = await Promise.all(files.map((file) => upload(videoId, file)))
  const stored = files.filter((_, i) => responses[i]!.status === 201)
  assert.equal(stored.length, 1)
  for (const response of responses.filter(({ status }) => status !== 201))
    assertProblem(response, 400, 'video-source-already-uploaded')
  await assertReplaced(videoId, stored[0]!)
})

test('a playable video accepts no other file', async () => {
  const videoId = await uploadVideo(service, film)
  await assertEncoded(service, videoId, encoded)
  const already = 'video-source-already-uploaded'
  assertProblem(await upload(videoId, text), 400, already)
  assertProblem(await createTus(undefined, videoId), 400, already)
  await assertSource(service.data, videoId, film)
})

test('a file that a job is examining for another time cannot be replaced', async (t) => {
  const videoId = await uploadUnreadable()
  await query(service.database, 'delete from encodings')
  assertProblem(await upload(videoId, film), 400, 'video-source-already-uploaded')
  const { queue, db } = await openJobContext(t, service)
  await queue.send(db, 'plan-encoding', { videoId })
  assert.deepEqual(await waitForEnds(service.database, videoId, 2), [failed, failed])
})

test('a failure is reported before the file is replaced', async () => {
  const videoId = await uploadUnreadable()
  // As if the job that reports it had not run yet.
  await query(service.database, `delete from events where video_id = $1`, [videoId])
  await query(service.database, 'update encodings set is_end_reported = false')
  const [first] = inChunks(long, 'bytes')
  assert.equal((await upload(videoId, ...first!)).status, 201)
  assert.deepEqual(await waitForEnds(service.database, videoId), [failed])
})

test('a job of the unreadable file that runs again changes nothing', async (t) => {
  const videoId = await uploadUnreadable()
  const [first, second] = inChunks(long, 'bytes')
  assert.equal((await upload(videoId, ...first!)).status, 201)
  const { queue, db } = await openJobContext(t, service)
  for (const name of ['store-source', 'plan-encoding', 'finish-encoding'] as const)
    await queue.send(db, name, { videoId })
  const open = `select from pgboss.job where data->>'videoId' = $1 and state < 'completed'`
  await waitFor(async () => (await query(service.database, open, [videoId])).length === 0)
  assert.equal((await videoStatus(service, videoId)).ingest.status, 'uploading')
  assert.equal((await upload(videoId, ...second!)).status, 201)
  await assertReplaced(videoId, long)
})

test('a service that is killed while the file is replaced continues where it was', async (t) => {
  const deployment = await createDeployment(t, withoutThumbnails())
  const { database, data } = deployment
  let running = await deployment.start()
  const videoId = await uploadVideo(running, text)
  assert.deepEqual(await waitForEnds(database, videoId), [failed])
  for (const [content, range] of inChunks(long, 'parts')) {
    assert.equal((await sendFile(sourceUrl(running, videoId), content, { range })).status, 201)
    await running.kill()
    running = await deployment.start()
  }
  assert.deepEqual(await waitForEnds(database, videoId, 2), [failed, 'completed'])
  await assertSource(data, videoId, long)
})
