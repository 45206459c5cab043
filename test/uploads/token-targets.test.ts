import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { afterEach, test } from 'node:test'
import { removeAbandonedUploads } from '../../server/uploads/source/remove-abandoned.ts'
import { removeUpload } from '../../server/uploads/tus/create.ts'
import {
  assertNoErrorsLogged,
  assertProblem,
  assertSource,
  call,
  openUpload,
  query,
  sandboxKey,
  sendFile,
  sharedKinora,
  waitFor,
} from '../support/harness.ts'
import { openJobContext } from '../support/job-context.ts'
import { withoutEncoding } from '../support/programs.ts'
import { assertNotFound, big, first, patch, second, small, tokenUploads } from '../support/token-uploads.ts'
import { createVideo } from '../support/videos.ts'

// An upload token can fill a video that an API key created, if nothing was ever uploaded to it.

const service = sharedKinora({ KINORA_RESTORE_DAYS: '30', ...withoutEncoding() })

afterEach(() => assertNoErrorsLogged(service))

const { newToken, send, createTus } = tokenUploads(service)

const sendWithKey = (videoId: string, content: Buffer, range?: string) =>
  sendFile(`${service.url}/videos/${videoId}/source`, content, range ? { range } : {})
const uploadOf = async (videoId: string) =>
  (
    await query(
      service.database,
      `select handle, form, created_by, received_bytes from sources
       where video_id = $1 and form in ('whole', 'bytes', 'parts')`,
      [videoId],
    )
  )[0]

/** Checks that the token gets the same response as for a video that does not exist, and changes nothing. */
async function assertClosed(token: string, videoId: string) {
  const before = await uploadOf(videoId)
  const unknown = await send(token, small, { before: { videoId: 'vi0000000000000000000000' } })
  for (const position of ['before', 'after'] as const) {
    for (const range of [undefined, 'part 1/1', 'part 2/2', `bytes 0-${small.length - 1}/${small.length}`]) {
      const response = await send(token, small, { [position]: { videoId }, ...(range && { range }) })
      assertNotFound(response)
      assert.deepEqual(response.body, unknown.body)
    }
  }
  assertNotFound(await createTus(token, videoId))
  assert.deepEqual(await uploadOf(videoId), before)
}

// --- Empty videos

for (const position of ['before', 'after'] as const) {
  test(`a token fills an empty video that an API key created, with the id ${position} the file`, async () => {
    for (const json of [{ title: 'Open' }, { title: 'Closed', public: false }]) {
      const [token, videoId] = [await newToken(), await createVideo(service, json)]
      const response = await send(token, small, { [position]: { videoId } })
      assert.equal(response.status, 201, response.text)
      assert.deepEqual([response.body.videoId, response.body.title], [videoId, json.title])
      for (const url of Object.values<string>(response.body.assets)) assert.doesNotMatch(url, /token/)
      await assertSource(service.data, videoId, small)
    }
    assert.equal((await query(service.database, 'select from videos')).length, 2)
  })
}

test('a token fills an empty video in parts, and needs the id only in the first one', async () => {
  const [token, videoId] = [await newToken(), await createVideo(service)]
  const begun = await send(token, first, { range: 'part 1/2', before: { videoId } })
  assert.equal(begun.status, 201, begun.text)
  const ended = await send(token, second, { range: 'part 2/2' })
  assert.deepEqual([ended.status, ended.body.videoId], [201, videoId], ended.text)
  await assertSource(service.data, videoId, big)
  // A client that lost the response sends the part again.
  assert.equal((await send(token, second, { range: 'part 2/2', before: { videoId } })).status, 201)
})

test('a token fills an empty video over tus', async () => {
  const [token, videoId] = [await newToken(), await createVideo(service)]
  const created = await createTus(token, videoId)
  assert.deepEqual([created.status, created.headers.get('x-video-id')], [201, videoId], created.text)
  assert.equal(await patch(created.headers.get('location'), small), 204)
  await assertSource(service.data, videoId, small)
})

test('a sandbox token fills an empty video of the sandbox', async () => {
  const token = await newToken({}, '/sandbox', sandboxKey)
  const videoId = await createVideo({ url: `${service.url}/sandbox`, key: sandboxKey }, { title: 'Trial' })
  const response = await send(token, small, { before: { videoId } })
  assert.equal(response.status, 201, response.text)
})

// --- Who may continue

test('after the first byte, only the same token or an API key continues', async () => {
  const [token, other, videoId] = [await newToken(), await newToken(), await createVideo(service)]
  assert.equal((await send(token, first, { range: 'part 1/2', before: { videoId } })).status, 201)
  await assertClosed(other, videoId)
  assert.equal((await sendWithKey(videoId, second, 'part 2/2')).status, 201)
  await assertSource(service.data, videoId, big)
  await assertClosed(other, videoId)
})

test('if several tokens send a file at once, one of them fills the video', async () => {
  const videoId = await createVideo(service)
  const tokens = await Promise.all(Array.from({ length: 5 }, () => newToken()))
  const contents = tokens.map(() => randomBytes(50_000))
  const responses = await Promise.all(
    tokens.map((token, i) => {
      // Tus creations, too, compete for the first byte.
      if (i === 4) return createTus(token, videoId)
      return send(token, contents[i]!, { [i % 2 ? 'before' : 'after']: { videoId } })
    }),
  )
  const winners = contents.filter((_, i) => i < 4 && responses[i]!.status === 201)
  assert.equal(winners.length, 1, JSON.stringify(responses.map(({ status, body }) => [status, body?.type])))
  for (const { status } of responses) assert.ok([201, 400, 404].includes(status), String(status))
  await assertSource(service.data, videoId, winners[0]!)
})

test('while the first bytes of a token arrive, no other token can start', async (t) => {
  const [token, other, videoId] = [await newToken(), await newToken(), await createVideo(service)]
  const slow = openUpload(`${service.url}/upload?token=${token}`, big, { key: '', before: { videoId } })
  await slow.write(1024 * 1024)
  // A client that is silent for ten seconds counts as gone.
  const timer = setInterval(() => slow.write(1).catch(() => {}), 500)
  t.after(() => clearInterval(timer))
  await waitFor(
    async () =>
      (await query(service.database, 'select from source_pieces where video_id = $1', [videoId])).length > 0,
  )
  for (const position of ['before', 'after'] as const) {
    const response = await send(other, small, { [position]: { videoId } })
    assertProblem(response, 400, 'video-content-range-already-initiated', 'Content-Range')
  }
  const tus = await createTus(other, videoId)
  assertProblem(tus, 400, 'video-content-range-already-initiated', 'Content-Range')
  clearInterval(timer)
  assert.equal((await slow.end()).status, 201)
  await assertSource(service.data, videoId, big)
})

test('a token that sent nothing keeps no other token out', async () => {
  const [token, other, videoId] = [await newToken(), await newToken(), await createVideo(service)]
  const created = await createTus(token, videoId)
  assert.equal(created.status, 201, created.text)
  const response = await send(other, small, { before: { videoId } })
  assert.equal(response.status, 201, response.text)
  assert.equal(await patch(created.headers.get('location'), small), 404)
  await assertSource(service.data, videoId, small)
})

test('a token that sent nothing has no part in the upload of an API key', async () => {
  const [token, videoId] = [await newToken(), await createVideo(service)]
  const location = (await createTus(token, videoId, 1)).headers.get('location')
  const rangeOf = (from: number, to: number) => `bytes ${from}-${to}/${big.length}`
  assert.equal((await sendWithKey(videoId, first, rangeOf(0, first.length - 1))).status, 201)
  assert.equal(await patch(location, small.subarray(0, 1)), 404)
  await assertClosed(token, videoId)
  assert.equal((await sendWithKey(videoId, second, rangeOf(first.length, big.length - 1))).status, 201)
  await assertSource(service.data, videoId, big)
})

test('a tus request that waits while an API key starts its upload does not remove the video', async (t) => {
  const [token, videoId] = [await newToken(), await createVideo(service)]
  const location = (await createTus(token, videoId)).headers.get('location')
  const uploadId = location!.split('/').at(-1)!
  assert.equal((await sendWithKey(videoId, first, 'part 1/2')).status, 201)
  await assert.rejects(removeUpload(await openJobContext(t, service), uploadId), {
    slug: 'resource-not-found',
  })
  assert.equal((await sendWithKey(videoId, second, 'part 2/2')).status, 201)
  await assertSource(service.data, videoId, big)
})

test('a token that terminates its upload may start again, and no other token', async () => {
  const [token, other, videoId] = [await newToken(), await newToken(), await createVideo(service)]
  const location = (await createTus(token, videoId, big.length)).headers.get('location')
  assert.equal(await patch(location, small), 204)
  const headers = { 'tus-resumable': '1.0.0' }
  assert.equal((await call(location ?? '', { method: 'DELETE', key: '', headers })).status, 204)
  await assertClosed(other, videoId)
  assert.equal((await send(token, small, { before: { videoId } })).status, 201)
})

// --- Videos that are closed to tokens

test('a token cannot touch a video that has or had an upload or another source', async () => {
  const cases: Record<string, () => Promise<string>> = {
    async 'uploaded with the key'() {
      const videoId = await createVideo(service)
      assert.equal((await sendWithKey(videoId, small)).status, 201)
      return videoId
    },
    async 'an upload that the key has started'() {
      const videoId = await createVideo(service)
      assert.equal((await sendWithKey(videoId, first, 'part 1/2')).status, 201)
      return videoId
    },
    async 'a tus upload that the key has created'() {
      const videoId = await createVideo(service)
      assert.equal((await createTus(undefined, videoId)).status, 201)
      return videoId
    },
    async 'a tus upload that the key has created and terminated'() {
      const videoId = await createVideo(service)
      const location = (await createTus(undefined, videoId)).headers.get('location') ?? ''
      const headers = { 'tus-resumable': '1.0.0' }
      assert.equal((await call(location, { method: 'DELETE', headers })).status, 204)
      return videoId
    },
    async 'a tus upload of another token'() {
      const videoId = await createVideo(service)
      const location = (await createTus(await newToken(), videoId, big.length)).headers.get('location')
      assert.equal(await patch(location, small), 204)
      return videoId
    },
    'created with another token': async () => (await createTus(await newToken())).headers.get('x-video-id')!,
    async 'filled by the token that is bound to it'() {
      const videoId = await createVideo(service)
      assert.equal((await send(await newToken({ videoId }), small)).status, 201)
      return videoId
    },
    'fetched from a URL': () => createVideo(service, { source: 'http://127.0.0.1:9/film.mp4' }),
    'a clone': async () => createVideo(service, { source: await createVideo(service) }),
    async 'a recording of a live stream'() {
      const videoId = await createVideo(service)
      const change = `update all_videos set source_type = 'liveStream' where id = $1`
      await query(service.database, change, [videoId])
      return videoId
    },
    async discarded() {
      const videoId = await createVideo(service)
      assert.equal((await call(`${service.url}/videos/${videoId}`, { method: 'DELETE' })).status, 204)
      return videoId
    },
    'of the sandbox': () =>
      createVideo({ url: `${service.url}/sandbox`, key: sandboxKey }, { title: 'Trial' }),
  }
  const token = await newToken()
  for (const [title, create] of Object.entries(cases)) {
    const videoId = await create()
    await assertClosed(token, videoId).catch((error) => {
      throw new Error(title, { cause: error })
    })
  }
})

test('an upload with the key that is abandoned leaves the video closed to tokens', async (t) => {
  const videoId = await createVideo(service)
  assert.equal((await sendWithKey(videoId, first, 'part 1/2')).status, 201)
  await query(service.database, `update sources set updated_at = now() - interval '8 days'`)
  await removeAbandonedUploads(await openJobContext(t, service))
  assert.equal(await uploadOf(videoId), undefined)
  await assertClosed(await newToken(), videoId)
  assert.equal((await sendWithKey(videoId, small)).status, 201)
})

test('a token that is bound to a video cannot fill another one', async () => {
  const bound = await newToken({ videoId: await createVideo(service) })
  await assertClosed(bound, await createVideo(service))
})

test('an expired or deleted token fills nothing', async () => {
  const videoId = await createVideo(service)
  const [expired, deleted] = [await newToken({ ttl: 60 }), await newToken()]
  assert.equal((await send(expired, first, { range: 'part 1/2', before: { videoId } })).status, 201)
  await query(service.database, `update upload_tokens set expires_at = now() where token = $1`, [expired])
  await call(`${service.url}/upload-tokens/${deleted}`, { method: 'DELETE' })
  for (const token of [expired, deleted]) {
    for (const id of [videoId, await createVideo(service)]) {
      const response = await send(token, second, { range: 'part 2/2', before: { videoId: id } })
      assertProblem(response, 401, 'authentication-invalid-upload-token')
      assertProblem(await createTus(token, id), 401, 'authentication-invalid-upload-token')
    }
  }
  assert.equal((await sendWithKey(videoId, second, 'part 2/2')).status, 201)
  await assertSource(service.data, videoId, big)
})
