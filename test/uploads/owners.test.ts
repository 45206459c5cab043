import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import {
  assertNoErrorsLogged,
  assertProblem,
  assertSource,
  call,
  fileExists,
  MiB,
  openUpload,
  query,
  sandboxKey,
  sendFile,
  sharedKinora,
  sourcePath,
  waitFor,
} from '../support/harness.ts'
import { withoutEncoding } from '../support/programs.ts'
import { assertNotFound, big, first, patch, second, small, tokenUploads } from '../support/token-uploads.ts'
import { createVideo, markEncoded, videoStatus } from '../support/videos.ts'

// An upload belongs to the token that started it. A token can be bound to one video.

const service = sharedKinora({ KINORA_RESTORE_DAYS: '0', ...withoutEncoding() })

afterEach(() => assertNoErrorsLogged(service))

const { newToken, createToken, send, createTus } = tokenUploads(service)

// --- Videos of others

test('a token cannot continue the upload of another token', async () => {
  const [one, other] = [await newToken(), await newToken()]
  const begun = await send(one, first, { range: 'part 1/2' })
  assert.equal(begun.status, 201, begun.text)
  const { videoId } = begun.body
  for (const position of ['before', 'after'] as const)
    assertNotFound(await send(other, second, { range: 'part 2/2', [position]: { videoId } }))
  assertNotFound(await createTus(other, videoId))
  // The file name and the IP address are the same, but the token is different.
  assertProblem(await send(other, second, { range: 'part 2/2' }), 400, 'attribute-required', 'videoId')
  assert.deepEqual((await videoStatus(service, videoId)).ingest.receivedParts.parts, [1])
  const ended = await send(one, second, { range: 'part 2/2', after: { videoId } })
  assert.equal(ended.status, 201, ended.text)
  await assertSource(service.data, videoId, big)
})

test('a token cannot find out what others have uploaded by sending the same content', async () => {
  const videoId = await createVideo(service)
  const [one, other] = [await newToken({ videoId }), await newToken({ videoId })]
  assert.equal((await send(one, first, { range: 'part 1/2' })).status, 201)
  const guess = await send(other, first, { range: 'part 1/2', before: { videoId } })
  assertProblem(guess, 400, 'video-content-range-already-initiated', 'Content-Range')
})

test('a sandbox token cannot find a video of production', async () => {
  const token = await newToken({}, '/sandbox', sandboxKey)
  const videoId = await createVideo(service)
  const url = `${service.url}/sandbox/upload?token=${token}`
  for (const position of ['before', 'after'] as const)
    assertNotFound(await sendFile(url, small, { key: '', [position]: { videoId } }))
  assertProblem(await createToken({ videoId }, '/sandbox', sandboxKey), 400, 'invalid-attribute', 'videoId')
})

test('a tus upload belongs to the token that created it', async () => {
  const [one, other] = [await newToken(), await newToken()]
  const created = await createTus(one)
  assert.equal(created.status, 201, created.text)
  const videoId = created.headers.get('x-video-id') ?? ''
  assertNotFound(await createTus(other, videoId))
  assertNotFound(await send(other, small, { before: { videoId } }))
  assert.equal(await patch(created.headers.get('location') ?? '', small), 204)
  await assertSource(service.data, videoId, small)
})

test('an API key can continue every upload of its environment', async () => {
  const begun = await send(await newToken(), first, { range: 'part 1/2' })
  const { videoId } = begun.body
  const ended = await sendFile(`${service.url}/videos/${videoId}/source`, second, { range: 'part 2/2' })
  assert.equal(ended.status, 201, ended.text)
  await assertSource(service.data, videoId, big)
})

test('after a token is deleted, no other token can fill the video that it created', async () => {
  const [one, other] = [await newToken(), await newToken()]
  const { videoId } = (await send(one, first, { range: 'part 1/2' })).body
  await call(`${service.url}/upload-tokens/${one}`, { method: 'DELETE' })
  const options = { range: 'part 2/2', before: { videoId } }
  assertProblem(await send(one, second, options), 401, 'authentication-invalid-upload-token')
  assertNotFound(await send(other, second, options))
})

// --- Private videos

test('the response to an upload with a token gives no access to a private video', async () => {
  const videoId = await createVideo(service, { title: 'Closed', public: false })
  const token = await newToken({ videoId })
  for (const [i, content] of [first, second].entries()) {
    const response = await send(token, content, {
      range: `part ${i + 1}/2`,
      ...(i === 0 && { before: { videoId } }),
    })
    assert.equal(response.status, 201, response.text)
    assert.equal(response.body.public, false)
    const { assets } = response.body
    assert.equal(assets.player, `${service.url}/vod/${videoId}`)
    for (const url of Object.values<string>(assets)) assert.doesNotMatch(url, /token/)
  }
  const { assets } = (await call(`${service.url}/videos/${videoId}`)).body
  assert.match(assets.hls, /\/token\//)
})

// --- Bound tokens

test('a bound token shows its video and can fill only this video, once', async () => {
  const videoId = await createVideo(service, { title: 'Mine' })
  const created = await createToken({ ttl: 60, videoId })
  assert.equal(created.body.videoId, videoId)
  const { token } = created.body
  assert.deepEqual((await call(`${service.url}/upload-tokens/${token}`)).body, created.body)
  const listed = (await call(`${service.url}/upload-tokens?pageSize=100`)).body.data
  assert.equal(listed.find((each: { token: string }) => each.token === token).videoId, videoId)
  const unbound = (await createToken()).body
  assert.ok(!('videoId' in unbound))

  const response = await send(token, small)
  assert.deepEqual(
    [response.status, response.body.videoId, response.body.title],
    [201, videoId, 'Mine'],
    response.text,
  )
  await assertSource(service.data, videoId, small)
  await markEncoded(service.database, videoId)
  assertProblem(await send(token, first), 400, 'video-source-already-uploaded')
  assertProblem(await createTus(token), 400, 'video-source-already-uploaded')
  assert.equal((await query(service.database, 'select from videos')).length, 1)
})

test('a bound token fills its video with tus, with or without the id, and a termination leaves the video', async () => {
  for (const isNamed of [true, false]) {
    const videoId = await createVideo(service, { title: 'Mine' })
    const token = await newToken({ videoId })
    const created = await createTus(token, isNamed ? videoId : undefined)
    assert.equal(created.status, 201, created.text)
    assert.equal(created.headers.get('x-video-id'), videoId)
    const uploadUrl = created.headers.get('location') ?? ''
    const headers = { 'tus-resumable': '1.0.0' }
    assert.equal((await call(uploadUrl, { method: 'DELETE', key: '', headers })).status, 204)
    assert.equal((await call(`${service.url}/videos/${videoId}`)).status, 200)
    const again = (await createTus(token, isNamed ? videoId : undefined)).headers.get('location') ?? ''
    assert.equal(await patch(again, small), 204)
    await assertSource(service.data, videoId, small)
  }
})

test('if two tokens are bound to one video, the first one that sends bytes owns the upload', async (t) => {
  const videoId = await createVideo(service)
  const [one, other] = [await newToken({ videoId }), await newToken({ videoId })]
  // An upload that has received nothing has no owner yet and can be replaced.
  const empty = (await createTus(one, undefined, big.length)).headers.get('location') ?? ''
  const slow = openUpload(`${service.url}/upload?token=${other}`, big, { key: '', before: { videoId } })
  await slow.write(2 * MiB)
  // A client that is silent for ten seconds counts as gone.
  const timer = setInterval(() => slow.write(1).catch(() => {}), 500)
  t.after(() => clearInterval(timer))
  await waitFor(
    async () =>
      (await query(service.database, 'select from source_pieces where video_id = $1', [videoId])).length > 0,
  )
  assert.equal(await patch(empty, small), 404)
  const already = await send(one, first, { range: 'part 1/2', before: { videoId } })
  assertProblem(already, 400, 'video-content-range-already-initiated', 'Content-Range')
  clearInterval(timer)
  const response = await slow.end()
  assert.equal(response.status, 201, response.text)
  await assertSource(service.data, videoId, big)
})

test('a token can only be bound to a video of its environment without content', async () => {
  const filled = await createVideo(service)
  assert.equal((await sendFile(`${service.url}/videos/${filled}/source`, small)).status, 201)
  await markEncoded(service.database, filled)
  const begun = await createVideo(service)
  const range = 'part 1/2'
  assert.equal((await sendFile(`${service.url}/videos/${begun}/source`, first, { range })).status, 201)
  const fetched = (
    await call(`${service.url}/videos`, { method: 'POST', json: { source: 'http://127.0.0.1:9/film.mp4' } })
  ).body.videoId
  const sandboxed = await createVideo({ url: `${service.url}/sandbox`, key: sandboxKey }, { title: 'Trial' })
  const cases = [filled, begun, fetched, sandboxed, 'vi0000000000000000000000', 'nonsense', '', 7, "'; --"]
  for (const videoId of cases)
    assertProblem(await createToken({ videoId }), 400, 'invalid-attribute', 'videoId')
})

test('deleting a video deletes the tokens that are bound to it', async () => {
  const videoId = await createVideo(service)
  const token = await newToken({ videoId })
  assert.equal((await call(`${service.url}/videos/${videoId}`, { method: 'DELETE' })).status, 204)
  for (const options of [{}, { before: { videoId } }])
    assertProblem(await send(token, small, options), 401, 'authentication-invalid-upload-token')
  assertProblem(await createTus(token), 401, 'authentication-invalid-upload-token')
  assertProblem(await call(`${service.url}/upload-tokens/${token}`), 404, 'resource-not-found', 'uploadToken')
  assert.equal(await fileExists(sourcePath(service.data, videoId)), false)
})
