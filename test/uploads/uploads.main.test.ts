import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import ApiVideoClient from '@api.video/nodejs-client'
import {
  assertNoErrorsLogged,
  assertProblem,
  assertSource,
  call,
  fileExists,
  formBody,
  MiB,
  openUpload,
  productionKey,
  query,
  sandboxKey,
  sendFile,
  sharedKinora,
  sourcePath,
  startKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { withoutEncoding } from '../support/programs.ts'
import { createVideo, sourceUrl } from '../support/videos.ts'

// Uploads as the published client sends them, and with the peculiarities of other clients.

const service = sharedKinora({ KINORA_RESTORE_DAYS: '0', ...withoutEncoding() })

afterEach(() => assertNoErrorsLogged(service))

const big = randomBytes(13 * MiB + 77)
const small = randomBytes(100_000)
const parts = [big.subarray(0, 5 * MiB), big.subarray(5 * MiB, 10 * MiB), big.subarray(10 * MiB)] as const

let folder = ''
const ends: (() => unknown)[] = []
before(async () => {
  folder = await temporaryFolder({ after: (end) => ends.push(end) })
})
after(async () => {
  for (const end of ends) await end()
})

/** Writes a file to disk, because the published client accepts only paths. */
async function writeTemporary(name: string, content: Buffer): Promise<string> {
  const path = join(folder, name)
  await mkdir(join(path, '..'), { recursive: true })
  await writeFile(path, content)
  return path
}

const chunking = (path = '', apiKey = productionKey) =>
  new ApiVideoClient({ baseUri: service.url + path, apiKey, chunkSize: 5 * MiB })
const anonymous = () => new ApiVideoClient({ baseUri: service.url, chunkSize: 5 * MiB })

async function newToken(ttl = 0): Promise<string> {
  return (await chunking().uploadTokens.createToken({ ttl })).token!
}

/** A token that can only fill this video. */
async function boundToken(videoId: string): Promise<string> {
  const { status, text, body } = await call(`${service.url}/upload-tokens`, {
    method: 'POST',
    json: { videoId },
  })
  assert.equal(status, 200, text)
  return body.token
}

async function ingestOf(videoId: string) {
  const { status, body } = await call(`${service.url}/videos/${videoId}/status`)
  assert.equal(status, 200)
  return body.ingest
}

const delegated = (token: string) => `${service.url}/upload?token=${token}`
const receivedParts = (
  parts: number[],
  total: number | null,
  filesize: number | null,
  status = 'uploading',
) => ({
  status,
  filesize,
  receivedBytes: [],
  receivedParts: { parts, total },
})

// --- The published client

test('the client uploads a small file in one request, and the status shows it', async () => {
  const videoId = await createVideo(service, { title: 'Small' })
  assert.equal(await ingestOf(videoId), null)
  const video = await chunking().videos.upload(videoId, await writeTemporary('small ü.mp4', small))
  assert.equal(video.videoId, videoId)
  assert.equal(video.title, 'Small')
  assert.equal(video.source?.type, 'upload')
  assert.deepEqual(await ingestOf(videoId), receivedParts([], null, small.length, 'uploaded'))
  await assertSource(service.data, videoId, small)
})

test('the client uploads a large file in chunks and reports its progress', async () => {
  const videoId = await createVideo(service)
  const steps: (number | undefined)[] = []
  const video = await chunking().videos.upload(videoId, await writeTemporary('big.mp4', big), (event) => {
    if (event.currentChunk !== steps.at(-1)) steps.push(event.currentChunk)
  })
  assert.equal(video.videoId, videoId)
  assert.deepEqual(await ingestOf(videoId), receivedParts([1, 2, 3], 3, big.length, 'uploaded'))
  assert.ok(steps.length >= 3, String(steps))
  await assertSource(service.data, videoId, big)
})

test('the client sends a file with the size of one chunk as a single part', async () => {
  const videoId = await createVideo(service)
  await chunking().videos.upload(videoId, await writeTemporary('exact.mp4', parts[0]))
  assert.deepEqual(await ingestOf(videoId), receivedParts([1], 1, 5 * MiB, 'uploaded'))
  await assertSource(service.data, videoId, parts[0])
})

test('a progressive session sends parts while the total is unknown, and the status lists them', async () => {
  const videoId = await createVideo(service)
  const session = chunking().videos.createUploadProgressiveSession(videoId)
  const paths = await Promise.all(parts.map((part, i) => writeTemporary(`part-${i}.bin`, part)))
  assert.equal((await session.uploadPart(paths[0]!)).videoId, videoId)
  assert.deepEqual(await ingestOf(videoId), receivedParts([1], null, null))
  await session.uploadPart(paths[1]!)
  assert.deepEqual(await ingestOf(videoId), receivedParts([1, 2], null, null))
  assert.equal(await fileExists(sourcePath(service.data, videoId)), false)
  await session.uploadLastPart(paths[2]!)
  assert.deepEqual(await ingestOf(videoId), receivedParts([1, 2, 3], 3, big.length, 'uploaded'))
  await assertSource(service.data, videoId, big)
})

test('an upload token without a key uploads a small file into a public video with the name of the file', async () => {
  const video = await anonymous().videos.uploadWithUploadToken(
    await newToken(),
    await writeTemporary('Müsli & Co.mp4', small),
  )
  assert.equal(video.title, 'Müsli & Co.mp4')
  assert.equal(video._public, true)
  await assertSource(service.data, video.videoId, small)
})

test('an upload token uploads a large file although the client does not send the id of the video with its chunks', async () => {
  const video = await anonymous().videos.uploadWithUploadToken(
    await newToken(60),
    await writeTemporary('big.mp4', big),
  )
  assert.equal(video.title, 'big.mp4')
  assert.equal((await chunking().videos.list()).pagination.itemsTotal, 1)
  assert.deepEqual(await ingestOf(video.videoId), receivedParts([1, 2, 3], 3, big.length, 'uploaded'))
  await assertSource(service.data, video.videoId, big)
})

test('one token uploads two large files with the same name, one after the other, into two videos', async () => {
  const token = await newToken()
  const other = randomBytes(11 * MiB)
  const one = await anonymous().videos.uploadWithUploadToken(token, await writeTemporary('same.mp4', big))
  const two = await anonymous().videos.uploadWithUploadToken(token, await writeTemporary('same.mp4', other))
  assert.notEqual(one.videoId, two.videoId)
  await assertSource(service.data, one.videoId, big)
  await assertSource(service.data, two.videoId, other)
})

test('in a progressive session with a token, the name of the first part becomes the title of the video', async () => {
  const session = anonymous().videos.createUploadWithUploadTokenProgressiveSession(await newToken())
  const paths = await Promise.all(parts.map((part, i) => writeTemporary(`take-${i}.bin`, part)))
  const first = await session.uploadPart(paths[0]!)
  await session.uploadPart(paths[1]!)
  const last = await session.uploadLastPart(paths[2]!)
  assert.equal(last.videoId, first.videoId)
  assert.equal(last.title, 'take-0.bin')
  await assertSource(service.data, last.videoId, big)
})

test('upload tokens are created, shown, listed and deleted', async () => {
  const { uploadTokens } = chunking()
  await query(service.database, 'delete from upload_tokens')
  const forever = await uploadTokens.createToken()
  const hour = await uploadTokens.createToken({ ttl: 3600 })
  assert.equal(forever.ttl, 0)
  assert.equal(forever.expiresAt ?? null, null)
  assert.equal(hour.ttl, 3600)
  assert.equal(hour.expiresAt!.getTime() - hour.createdAt!.getTime(), 3_600_000)
  assert.deepEqual(await uploadTokens.getToken(hour.token!), hour)

  const list = await uploadTokens.list({ sortBy: 'ttl', sortOrder: 'desc' })
  assert.deepEqual(
    list.data?.map(({ token }) => token),
    [hour.token, forever.token],
  )
  assert.equal(list.pagination?.itemsTotal, 2)
  const paged = await uploadTokens.list({
    sortBy: 'createdAt',
    sortOrder: 'asc',
    pageSize: 1,
    currentPage: 2,
  })
  assert.deepEqual(
    paged.data?.map(({ token }) => token),
    [hour.token],
  )

  await uploadTokens.deleteToken(hour.token!)
  const gone = `${service.url}/upload-tokens/${hour.token}`
  assertProblem(await call(gone), 404, 'resource-not-found', 'uploadToken')
  assertProblem(await call(gone, { method: 'DELETE' }), 404, 'resource-not-found', 'uploadToken')
  assert.equal((await uploadTokens.list()).pagination?.itemsTotal, 1)
  const rejected = await sendFile(delegated(hour.token!), small, { key: '' })
  assertProblem(rejected, 401, 'authentication-invalid-upload-token')
})

test('a lifetime that is negative, too long or not an integer is rejected', async () => {
  for (const ttl of [-1, 2_147_483_648, 1.5, 'soon']) {
    const response = await call(`${service.url}/upload-tokens`, { method: 'POST', json: { ttl } })
    assertProblem(response, 400, 'invalid-attribute', 'ttl')
  }
  const { token } = await chunking().uploadTokens.createToken({ ttl: 2_147_483_647 })
  assert.equal((await sendFile(delegated(token!), small, { key: '' })).status, 201)
})

test('an expired token is not listed, shown or accepted', async () => {
  await query(service.database, 'delete from upload_tokens')
  const token = await newToken(60)
  await query(service.database, `update upload_tokens set expires_at = now() - interval '1 second'`)
  assertProblem(await call(`${service.url}/upload-tokens/${token}`), 404, 'resource-not-found', 'uploadToken')
  assert.equal((await chunking().uploadTokens.list()).pagination?.itemsTotal, 0)
  assertProblem(
    await sendFile(delegated(token), small, { key: '' }),
    401,
    'authentication-invalid-upload-token',
  )
  assert.equal((await chunking().videos.list()).pagination.itemsTotal, 0)
})

test('a sandbox token uploads into the sandbox, with and without the /sandbox prefix', async () => {
  const inSandbox = chunking('/sandbox', sandboxKey)
  const { token } = await inSandbox.uploadTokens.createToken()
  for (const base of ['/sandbox', '']) {
    const response = await sendFile(`${service.url}${base}/upload?token=${token}`, small, { key: '' })
    assert.equal(response.status, 201, response.text)
    assert.equal((await inSandbox.videos.get(response.body.videoId)).title, 'film.mp4')
    await assertSource(service.data, response.body.videoId, small)
  }
  assert.equal((await chunking().videos.list()).pagination.itemsTotal, 0)
})

// --- Other clients

test('the form field of the file can have any name, and text fields can be before and after it', async () => {
  for (const field of ['file', 'film.mp4', 'Grüße', 'videoId', '']) {
    const videoId = await createVideo(service)
    const response = await sendFile(sourceUrl(service, videoId), small, {
      field,
      before: { a: '1' },
      after: { b: '2' },
    })
    assert.equal(response.status, 201, `${field}: ${response.text}`)
    assert.equal(response.body.videoId, videoId)
    await assertSource(service.data, videoId, small)
  }
})

test('a quoted boundary can contain special characters', async () => {
  const boundary = "a'()+_,-./:=? z"
  const videoId = await createVideo(service)
  const response = await sendFile(sourceUrl(service, videoId), small, {
    boundary,
    headers: { 'content-type': `multipart/form-data; charset=utf-8; boundary="${boundary}"` },
  })
  assert.equal(response.status, 201, response.text)
  await assertSource(service.data, videoId, small)
})

test('content that looks like a boundary arrives unchanged', async () => {
  const tricky = Buffer.concat([
    Buffer.from('\r\n--x-boundar\r\n\r\n--x-boundarx--\r\n'),
    small,
    Buffer.from('\r\n--x-bound\r\n\r\n'),
  ])
  const videoId = await createVideo(service)
  assert.equal((await sendFile(sourceUrl(service, videoId), tricky)).status, 201)
  await assertSource(service.data, videoId, tricky)
})

test('a body without Content-Length is read to its end', async () => {
  const videoId = await createVideo(service)
  const body = formBody([{ name: 'file', filename: 'a', content: small }], 'b')
  const response = await fetch(sourceUrl(service, videoId), {
    method: 'POST',
    headers: {
      'content-type': 'multipart/form-data; boundary=b',
      authorization: `Basic ${btoa(`${productionKey}:`)}`,
    },
    body: new Blob([new Uint8Array(body)]).stream(),
    duplex: 'half',
  })
  assert.equal(response.status, 201)
  await assertSource(service.data, videoId, small)
})

test('the last of several parts can be empty', async () => {
  const videoId = await createVideo(service)
  for (const [i, content] of [parts[0], parts[1], Buffer.alloc(0)].entries()) {
    const response = await sendFile(sourceUrl(service, videoId), content, { range: `part ${i + 1}/3` })
    assert.equal(response.status, 201, response.text)
  }
  assert.deepEqual(await ingestOf(videoId), receivedParts([1, 2, 3], 3, 10 * MiB, 'uploaded'))
  await assertSource(service.data, videoId, big.subarray(0, 10 * MiB))
})

test('an empty last part completes an upload with a token', async () => {
  const token = await newToken()
  const [first, second] = [
    await sendFile(delegated(token), parts[0], { range: 'part 1/2', key: '' }),
    await sendFile(delegated(token), Buffer.alloc(0), { range: 'part 2/2', key: '' }),
  ]
  assert.deepEqual([first.status, second.status], [201, 201], second.text)
  assert.equal(second.body.videoId, first.body.videoId)
  await assertSource(service.data, first.body.videoId, parts[0])
})

test('the only part of an upload can have any size', async () => {
  for (const size of [1, 4096, 6 * MiB]) {
    const videoId = await createVideo(service)
    const content = big.subarray(0, size)
    assert.equal((await sendFile(sourceUrl(service, videoId), content, { range: 'part 1/1' })).status, 201)
    await assertSource(service.data, videoId, content)
  }
})

test('the title of a delegated video is the last segment of the file name', async () => {
  const token = await newToken()
  for (const [filename, title] of [
    ['/home/ada/Film.mp4', 'Film.mp4'],
    ['../../etc/passwd', 'passwd'],
    ['C:\\\\Videos\\\\Clip.mov', 'Clip.mov'],
    ['Größe 🎬.webm', 'Größe 🎬.webm'],
    ['say %22hi%22.mp4', undefined],
  ] as const) {
    const response = await sendFile(delegated(token), small, { filename, key: '' })
    assert.equal(response.status, 201, response.text)
    if (title !== undefined) assert.equal(response.body.title, title)
    assert.ok(response.body.title.length > 0)
    await assertSource(service.data, response.body.videoId, small)
  }
})

test('a file name that is very long or contains NUL does not cause a server error', async () => {
  const token = await newToken()
  for (const filename of ['a'.repeat(5_000), 'nul\u0000l.mp4', '..', '/', '   ']) {
    const response = await sendFile(delegated(token), small, { filename, key: '' })
    assert.ok(response.status === 201 || response.status === 400, `${response.status} ${response.text}`)
  }
})

test('a bound token fills its video, if the id is sent before the file, after it or not at all', async () => {
  for (const position of ['before', 'after', undefined] as const) {
    const videoId = await createVideo(service, { title: 'Prepared' })
    const named = position && { [position]: { videoId } }
    const response = await sendFile(delegated(await boundToken(videoId)), small, { ...named, key: '' })
    assert.equal(response.status, 201, response.text)
    assert.equal(response.body.videoId, videoId)
    assert.equal(response.body.title, 'Prepared')
    await assertSource(service.data, videoId, small)
  }
  for (const position of ['before', 'after', undefined] as const) {
    const videoId = await createVideo(service, { title: 'Prepared' })
    const token = await boundToken(videoId)
    for (const [i, part] of parts.entries()) {
      const named = position && { [position]: { videoId } }
      const options = { range: `part ${i + 1}/3`, ...named, key: '', filename: `p${i}` }
      const response = await sendFile(delegated(token), part, options)
      assert.equal(response.status, 201, response.text)
      assert.equal(response.body.videoId, videoId)
    }
    await assertSource(service.data, videoId, big)
  }
})

test('an API key that is sent with an upload token is ignored', async () => {
  for (const key of [productionKey, 'no such key'])
    assert.equal((await sendFile(delegated(await newToken()), small, { key })).status, 201)
})

test('byte ranges can arrive in any order, and the status lists them', async () => {
  const videoId = await createVideo(service)
  const total = big.length
  const ranges = [
    [10 * MiB, total],
    [0, 5 * MiB],
    [5 * MiB, 10 * MiB],
  ] as const
  const received: { from: number; to: number; total: number }[] = []
  for (const [i, [from, to]] of ranges.entries()) {
    const range = `bytes ${from}-${to - 1}/${total}`
    const response = await sendFile(sourceUrl(service, videoId), big.subarray(from, to), { range })
    assert.equal(response.status, 201, response.text)
    assert.equal(response.body.videoId, videoId)
    received.push({ from, to: to - 1, total })
    received.sort((a, b) => a.from - b.from)
    assert.deepEqual(await ingestOf(videoId), {
      status: i === 2 ? 'uploaded' : 'uploading',
      filesize: total,
      receivedBytes: received,
      receivedParts: { parts: [], total: null },
    })
  }
  await assertSource(service.data, videoId, big)
})

test('the last byte range can be the first that states the total', async () => {
  const videoId = await createVideo(service)
  for (const [from, to] of [
    [5 * MiB, 10 * MiB],
    [0, 5 * MiB],
  ] as const) {
    const range = `bytes ${from}-${to - 1}/*`
    assert.equal((await sendFile(sourceUrl(service, videoId), big.subarray(from, to), { range })).status, 201)
  }
  const { filesize, receivedBytes } = await ingestOf(videoId)
  assert.equal(filesize, null)
  assert.deepEqual(
    receivedBytes.map(({ total }: { total: number | null }) => total),
    [null, null],
  )
  const range = `bytes ${10 * MiB}-${big.length - 1}/${big.length}`
  assert.equal((await sendFile(sourceUrl(service, videoId), parts[2], { range })).status, 201)
  await assertSource(service.data, videoId, big)
})

test('parts of different sizes can arrive in any order and concurrently', async () => {
  const cuts = [0, 5 * MiB, 11 * MiB + 1, big.length]
  const sent = [0, 1, 2].map((i) => big.subarray(cuts[i], cuts[i + 1]))
  for (const order of [
    [3, 2, 1],
    [2, 3, 1],
  ]) {
    const videoId = await createVideo(service)
    for (const part of order) {
      const response = await sendFile(sourceUrl(service, videoId), sent[part - 1]!, {
        range: `part ${part}/3`,
      })
      assert.equal(response.status, 201, response.text)
    }
    await assertSource(service.data, videoId, big)
  }
  for (let round = 0; round < 3; round++) {
    const videoId = await createVideo(service)
    const responses = await Promise.all(
      [3, 1, 2].map((part) =>
        sendFile(sourceUrl(service, videoId), sent[part - 1]!, { range: `part ${part}/3` }),
      ),
    )
    for (const { status, text } of responses) assert.equal(status, 201, text)
    await assertSource(service.data, videoId, big)
  }
})

test('parts with and without a total can be mixed', async () => {
  const videoId = await createVideo(service)
  for (const [part, range] of [
    [2, 'part 3/3'],
    [1, 'part 2/*'],
    [0, 'part 1/3'],
  ] as const)
    assert.equal((await sendFile(sourceUrl(service, videoId), parts[part]!, { range })).status, 201)
  await assertSource(service.data, videoId, big)
})

test('a chunk that is sent again with the total completes the upload', async () => {
  const videoId = await createVideo(service)
  const two = big.subarray(0, 10 * MiB)
  for (const range of ['part 1/*', 'part 2/*', 'part 2/2']) {
    const part = range.startsWith('part 1') ? parts[0] : parts[1]
    assert.equal((await sendFile(sourceUrl(service, videoId), part, { range })).status, 201)
  }
  assert.deepEqual(await ingestOf(videoId), receivedParts([1, 2], 2, 10 * MiB, 'uploaded'))
  await assertSource(service.data, videoId, two)

  const byBytes = await createVideo(service)
  for (const total of ['*', 5 * MiB]) {
    const range = `bytes 0-${5 * MiB - 1}/${total}`
    assert.equal((await sendFile(sourceUrl(service, byBytes), parts[0], { range })).status, 201)
  }
  await assertSource(service.data, byBytes, parts[0])
})

test('a chunk that is sent again unchanged is accepted, during the upload and after it', async () => {
  const videoId = await createVideo(service)
  const send = (i: number) => sendFile(sourceUrl(service, videoId), parts[i]!, { range: `part ${i + 1}/3` })
  for (const i of [0, 0, 1, 1, 0, 2]) assert.equal((await send(i)).status, 201)
  await assertSource(service.data, videoId, big)
  for (const i of [0, 1, 2]) {
    const { status, body } = await send(i)
    assert.deepEqual([status, body.videoId], [201, videoId])
  }
  await assertSource(service.data, videoId, big)

  const single = await createVideo(service)
  for (let n = 0; n < 3; n++) assert.equal((await sendFile(sourceUrl(service, single), small)).status, 201)
  await assertSource(service.data, single, small)

  const bytes = await createVideo(service)
  const range = `bytes ${5 * MiB}-${10 * MiB - 1}/${10 * MiB}`
  for (let n = 0; n < 2; n++)
    assert.equal((await sendFile(sourceUrl(service, bytes), parts[1], { range })).status, 201)
  assert.equal((await ingestOf(bytes)).receivedBytes.length, 1)
})

test('a chunk that is sent twice concurrently counts once', async () => {
  const videoId = await createVideo(service)
  const send = (i: number) => sendFile(sourceUrl(service, videoId), parts[i]!, { range: `part ${i + 1}/3` })
  const responses = await Promise.all([0, 0, 1, 1, 2, 2].map(send))
  for (const { status, text } of responses) assert.equal(status, 201, text)
  assert.deepEqual(await ingestOf(videoId), receivedParts([1, 2, 3], 3, big.length, 'uploaded'))
  await assertSource(service.data, videoId, big)
})

test('two processes with one file store accept parts of one upload concurrently', async (t) => {
  const one = service
  const two = await startKinora({
    KINORA_DATABASE_URL: one.database,
    KINORA_DATA_DIR: one.data,
    KINORA_LOG_LEVEL: 'warn',
  })
  t.after(() => two.stop())
  for (let round = 0; round < 3; round++) {
    const { body } = await call(`${one.url}/videos`, { method: 'POST', json: { title: 'Shared' } })
    const responses = await Promise.all(
      parts.map((part, i) =>
        sendFile(sourceUrl(i % 2 ? one : two, body.videoId), part, { range: `part ${i + 1}/3` }),
      ),
    )
    for (const { status, text } of responses) assert.equal(status, 201, text)
    await assertSource(one.data, body.videoId, big)
  }
  await two.stop()
})

// --- Deletion

test('deleting a video removes its files', async () => {
  const videoId = await createVideo(service)
  assert.equal((await sendFile(sourceUrl(service, videoId), small)).status, 201)
  await assertSource(service.data, videoId, small)
  await chunking().videos.delete(videoId)
  await waitFor(async () => !(await fileExists(join(service.data, 'files/videos', videoId))))
})

test('deleting a video between two parts removes the received parts, and later parts return 404', async () => {
  const videoId = await createVideo(service)
  assert.equal((await sendFile(sourceUrl(service, videoId), parts[0], { range: 'part 1/3' })).status, 201)
  const [{ handle }] = await query(service.database, 'select handle from sources where video_id = $1', [
    videoId,
  ])
  const pending = join(service.data, 'files/.uploads', handle)
  assert.equal(await fileExists(pending), true)
  await chunking().videos.delete(videoId)
  await waitFor(async () => !(await fileExists(pending)))
  const response = await sendFile(sourceUrl(service, videoId), parts[1], { range: 'part 2/3' })
  assertProblem(response, 404, 'resource-not-found', 'videoId')
})

test('an upload returns 404 if its video is deleted in the meantime', async () => {
  for (const range of [undefined, 'part 1/2', `bytes 0-${big.length - 1}/${big.length}`]) {
    const videoId = await createVideo(service)
    const upload = openUpload(sourceUrl(service, videoId), big, range === undefined ? {} : { range })
    await upload.write(3 * MiB)
    const handle = async () =>
      (await query(service.database, 'select handle from sources where video_id = $1', [videoId]))[0]?.handle
    await waitFor(async () => (await handle()) !== undefined)
    const pending = join(service.data, 'files/.uploads', await handle())
    await chunking().videos.delete(videoId)
    await waitFor(async () => !(await fileExists(pending)))
    const response = await upload.end()
    assertProblem(response, 404, 'resource-not-found', 'videoId')
    assert.equal(await fileExists(pending), false)
    assert.equal(await fileExists(join(service.data, 'files/videos', videoId)), false)
  }
})
