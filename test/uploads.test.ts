import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import ApiVideoClient from '@api.video/nodejs-client'
import {
  assertProblem,
  assertSource,
  call,
  formBody,
  isThere,
  kinora,
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
} from './harness.ts'
import { withoutEncoding } from './programs.ts'

// How bytes get in: as the published client sends them, and with every oddity of the other clients.

const service = sharedKinora(withoutEncoding())
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

/** A file on disk, as the published client takes nothing else. */
async function file(name: string, content: Buffer): Promise<string> {
  const path = join(folder, name)
  await mkdir(join(path, '..'), { recursive: true })
  await writeFile(path, content)
  return path
}

const chunking = (path = '', apiKey = productionKey) =>
  new ApiVideoClient({ baseUri: service.url + path, apiKey, chunkSize: 5 * MiB })
const anonymous = () => new ApiVideoClient({ baseUri: service.url, chunkSize: 5 * MiB })

async function newVideo(title = 'Film'): Promise<string> {
  return (await chunking().videos.create({ title })).videoId
}

async function newToken(ttl = 0): Promise<string> {
  return (await chunking().uploadTokens.createToken({ ttl })).token!
}

/** A token that may fill this video only. */
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

const sourceOf = (videoId: string, base = service.url) => `${base}/videos/${videoId}/source`
const delegated = (token: string) => `${service.url}/upload?token=${token}`
const byParts = (parts: number[], total: number | null, filesize: number | null, status = 'uploading') => ({
  status,
  filesize,
  receivedBytes: [],
  receivedParts: { parts, total },
})

// --- the published client

test('the client uploads a small file whole, and the status says so', async () => {
  const videoId = await newVideo('Whole')
  assert.equal(await ingestOf(videoId), null)
  const video = await chunking().videos.upload(videoId, await file('small ü.mp4', small))
  assert.equal(video.videoId, videoId)
  assert.equal(video.title, 'Whole')
  assert.equal(video.source?.type, 'upload')
  assert.deepEqual(await ingestOf(videoId), byParts([], null, small.length, 'uploaded'))
  await assertSource(service.data, videoId, small)
})

test('the client uploads a large file in chunks, and tells how far it is', async () => {
  const videoId = await newVideo()
  const steps: (number | undefined)[] = []
  const video = await chunking().videos.upload(videoId, await file('big.mp4', big), (event) => {
    if (event.currentChunk !== steps.at(-1)) steps.push(event.currentChunk)
  })
  assert.equal(video.videoId, videoId)
  assert.deepEqual(await ingestOf(videoId), byParts([1, 2, 3], 3, big.length, 'uploaded'))
  assert.ok(steps.length >= 3, String(steps))
  await assertSource(service.data, videoId, big)
})

test('a file of exactly one chunk is sent as the only part', async () => {
  const videoId = await newVideo()
  await chunking().videos.upload(videoId, await file('exact.mp4', parts[0]))
  assert.deepEqual(await ingestOf(videoId), byParts([1], 1, 5 * MiB, 'uploaded'))
  await assertSource(service.data, videoId, parts[0])
})

test('a progressive session sends parts while the total is unknown, and the status follows', async () => {
  const videoId = await newVideo()
  const session = chunking().videos.createUploadProgressiveSession(videoId)
  const paths = await Promise.all(parts.map((part, i) => file(`part-${i}.bin`, part)))
  assert.equal((await session.uploadPart(paths[0]!)).videoId, videoId)
  assert.deepEqual(await ingestOf(videoId), byParts([1], null, null))
  await session.uploadPart(paths[1]!)
  assert.deepEqual(await ingestOf(videoId), byParts([1, 2], null, null))
  assert.equal(await isThere(sourcePath(service.data, videoId)), false)
  await session.uploadLastPart(paths[2]!)
  assert.deepEqual(await ingestOf(videoId), byParts([1, 2, 3], 3, big.length, 'uploaded'))
  await assertSource(service.data, videoId, big)
})

test('a token uploads a small file into a public video of its name, without a key', async () => {
  const video = await anonymous().videos.uploadWithUploadToken(
    await newToken(),
    await file('Müsli & Co.mp4', small),
  )
  assert.equal(video.title, 'Müsli & Co.mp4')
  assert.equal(video._public, true)
  await assertSource(service.data, video.videoId, small)
})

test('a token uploads a large file although the client names the video on no chunk', async () => {
  const video = await anonymous().videos.uploadWithUploadToken(await newToken(60), await file('big.mp4', big))
  assert.equal(video.title, 'big.mp4')
  assert.equal((await chunking().videos.list()).pagination.itemsTotal, 1)
  assert.deepEqual(await ingestOf(video.videoId), byParts([1, 2, 3], 3, big.length, 'uploaded'))
  await assertSource(service.data, video.videoId, big)
})

test('one token uploads two large files of one name after each other, and they do not mix', async () => {
  const token = await newToken()
  const other = randomBytes(11 * MiB)
  const one = await anonymous().videos.uploadWithUploadToken(token, await file('same.mp4', big))
  const two = await anonymous().videos.uploadWithUploadToken(token, await file('same.mp4', other))
  assert.notEqual(one.videoId, two.videoId)
  await assertSource(service.data, one.videoId, big)
  await assertSource(service.data, two.videoId, other)
})

test('a progressive session by token has parts of different names; the first names the video', async () => {
  const session = anonymous().videos.createUploadWithUploadTokenProgressiveSession(await newToken())
  const paths = await Promise.all(parts.map((part, i) => file(`take-${i}.bin`, part)))
  const first = await session.uploadPart(paths[0]!)
  await session.uploadPart(paths[1]!)
  const last = await session.uploadLastPart(paths[2]!)
  assert.equal(last.videoId, first.videoId)
  assert.equal(last.title, 'take-0.bin')
  await assertSource(service.data, last.videoId, big)
})

test('upload tokens are made, shown, listed and deleted', async () => {
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
  const refused = await sendFile(delegated(hour.token!), small, { key: '' })
  assertProblem(refused, 401, 'authentication-invalid-upload-token')
})

test('a lifetime that is negative, too long or no number is refused', async () => {
  for (const ttl of [-1, 2_147_483_648, 1.5, 'soon']) {
    const answer = await call(`${service.url}/upload-tokens`, { method: 'POST', json: { ttl } })
    assertProblem(answer, 400, 'invalid-attribute', 'ttl')
  }
  const { token } = await chunking().uploadTokens.createToken({ ttl: 2_147_483_647 })
  assert.equal((await sendFile(delegated(token!), small, { key: '' })).status, 201)
})

test('an expired token is neither listed nor shown nor taken', async () => {
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

test('a token of the sandbox uploads into the sandbox, at either address', async () => {
  const inSandbox = chunking('/sandbox', sandboxKey)
  const { token } = await inSandbox.uploadTokens.createToken()
  for (const base of ['/sandbox', '']) {
    const answer = await sendFile(`${service.url}${base}/upload?token=${token}`, small, { key: '' })
    assert.equal(answer.status, 201, answer.text)
    assert.equal((await inSandbox.videos.get(answer.body.videoId)).title, 'film.mp4')
    await assertSource(service.data, answer.body.videoId, small)
  }
  assert.equal((await chunking().videos.list()).pagination.itemsTotal, 0)
})

// --- what other clients send

test('the field of the file may have any name, and text fields may come before and after it', async () => {
  for (const field of ['file', 'film.mp4', 'Grüße', 'videoId', '']) {
    const videoId = await newVideo()
    const answer = await sendFile(sourceOf(videoId), small, { field, before: { a: '1' }, after: { b: '2' } })
    assert.equal(answer.status, 201, `${field}: ${answer.text}`)
    assert.equal(answer.body.videoId, videoId)
    await assertSource(service.data, videoId, small)
  }
})

test('a boundary in quotes is read, also one with odd characters', async () => {
  const boundary = "a'()+_,-./:=? z"
  const videoId = await newVideo()
  const answer = await sendFile(sourceOf(videoId), small, {
    boundary,
    headers: { 'content-type': `multipart/form-data; charset=utf-8; boundary="${boundary}"` },
  })
  assert.equal(answer.status, 201, answer.text)
  await assertSource(service.data, videoId, small)
})

test('content that looks like a boundary arrives as it is', async () => {
  const tricky = Buffer.concat([
    Buffer.from('\r\n--x-boundar\r\n\r\n--x-boundarx--\r\n'),
    small,
    Buffer.from('\r\n--x-bound\r\n\r\n'),
  ])
  const videoId = await newVideo()
  assert.equal((await sendFile(sourceOf(videoId), tricky)).status, 201)
  await assertSource(service.data, videoId, tricky)
})

test('a body without a length is read to its end', async () => {
  const videoId = await newVideo()
  const body = formBody([{ name: 'file', filename: 'a', content: small }], 'b')
  const response = await fetch(sourceOf(videoId), {
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

test('the last of several parts may be empty', async () => {
  const videoId = await newVideo()
  for (const [i, content] of [parts[0], parts[1], Buffer.alloc(0)].entries()) {
    const answer = await sendFile(sourceOf(videoId), content, { range: `part ${i + 1}/3` })
    assert.equal(answer.status, 201, answer.text)
  }
  assert.deepEqual(await ingestOf(videoId), byParts([1, 2, 3], 3, 10 * MiB, 'uploaded'))
  await assertSource(service.data, videoId, big.subarray(0, 10 * MiB))
})

test('an empty last part by token ends its upload too', async () => {
  const token = await newToken()
  const [first, second] = [
    await sendFile(delegated(token), parts[0], { range: 'part 1/2', key: '' }),
    await sendFile(delegated(token), Buffer.alloc(0), { range: 'part 2/2', key: '' }),
  ]
  assert.deepEqual([first.status, second.status], [201, 201], second.text)
  assert.equal(second.body.videoId, first.body.videoId)
  await assertSource(service.data, first.body.videoId, parts[0])
})

test('the only part of one may have any size', async () => {
  for (const size of [1, 4096, 6 * MiB]) {
    const videoId = await newVideo()
    const content = big.subarray(0, size)
    assert.equal((await sendFile(sourceOf(videoId), content, { range: 'part 1/1' })).status, 201)
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
    const answer = await sendFile(delegated(token), small, { filename, key: '' })
    assert.equal(answer.status, 201, answer.text)
    if (title !== undefined) assert.equal(answer.body.title, title)
    assert.ok(answer.body.title.length > 0)
    await assertSource(service.data, answer.body.videoId, small)
  }
})

test('a file name that is very long or has characters that no text holds does not stop an upload', async () => {
  const token = await newToken()
  for (const filename of ['a'.repeat(5_000), 'nul\u0000l.mp4', '..', '/', '   ']) {
    const answer = await sendFile(delegated(token), small, { filename, key: '' })
    assert.ok(answer.status === 201 || answer.status === 400, `${answer.status} ${answer.text}`)
  }
})

test('a bound token fills its container, named before or after the file or not at all', async () => {
  for (const place of ['before', 'after', undefined] as const) {
    const videoId = await newVideo('Prepared')
    const named = place && { [place]: { videoId } }
    const answer = await sendFile(delegated(await boundToken(videoId)), small, { ...named, key: '' })
    assert.equal(answer.status, 201, answer.text)
    assert.equal(answer.body.videoId, videoId)
    assert.equal(answer.body.title, 'Prepared')
    await assertSource(service.data, videoId, small)
  }
  for (const place of ['before', 'after', undefined] as const) {
    const videoId = await newVideo('Prepared')
    const token = await boundToken(videoId)
    for (const [i, part] of parts.entries()) {
      const named = place && { [place]: { videoId } }
      const options = { range: `part ${i + 1}/3`, ...named, key: '', filename: `p${i}` }
      const answer = await sendFile(delegated(token), part, options)
      assert.equal(answer.status, 201, answer.text)
      assert.equal(answer.body.videoId, videoId)
    }
    await assertSource(service.data, videoId, big)
  }
})

test('a key that comes along with a token does not matter', async () => {
  for (const key of [productionKey, 'no such key'])
    assert.equal((await sendFile(delegated(await newToken()), small, { key })).status, 201)
})

test('bytes are put where they belong in any order, and the status lists them', async () => {
  const videoId = await newVideo()
  const total = big.length
  const ranges = [
    [10 * MiB, total],
    [0, 5 * MiB],
    [5 * MiB, 10 * MiB],
  ] as const
  const received: { from: number; to: number; total: number }[] = []
  for (const [i, [from, to]] of ranges.entries()) {
    const range = `bytes ${from}-${to - 1}/${total}`
    const answer = await sendFile(sourceOf(videoId), big.subarray(from, to), { range })
    assert.equal(answer.status, 201, answer.text)
    assert.equal(answer.body.videoId, videoId)
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

test('bytes whose total becomes known with the last range', async () => {
  const videoId = await newVideo()
  for (const [from, to] of [
    [5 * MiB, 10 * MiB],
    [0, 5 * MiB],
  ] as const) {
    const range = `bytes ${from}-${to - 1}/*`
    assert.equal((await sendFile(sourceOf(videoId), big.subarray(from, to), { range })).status, 201)
  }
  const { filesize, receivedBytes } = await ingestOf(videoId)
  assert.equal(filesize, null)
  assert.deepEqual(
    receivedBytes.map(({ total }: { total: number | null }) => total),
    [null, null],
  )
  const range = `bytes ${10 * MiB}-${big.length - 1}/${big.length}`
  assert.equal((await sendFile(sourceOf(videoId), parts[2], { range })).status, 201)
  await assertSource(service.data, videoId, big)
})

test('parts of different sizes arrive in any order and at once', async () => {
  const cuts = [0, 5 * MiB, 11 * MiB + 1, big.length]
  const sent = [0, 1, 2].map((i) => big.subarray(cuts[i], cuts[i + 1]))
  for (const order of [
    [3, 2, 1],
    [2, 3, 1],
  ]) {
    const videoId = await newVideo()
    for (const part of order) {
      const answer = await sendFile(sourceOf(videoId), sent[part - 1]!, { range: `part ${part}/3` })
      assert.equal(answer.status, 201, answer.text)
    }
    await assertSource(service.data, videoId, big)
  }
  for (let round = 0; round < 3; round++) {
    const videoId = await newVideo()
    const answers = await Promise.all(
      [3, 1, 2].map((part) => sendFile(sourceOf(videoId), sent[part - 1]!, { range: `part ${part}/3` })),
    )
    for (const { status, text } of answers) assert.equal(status, 201, text)
    await assertSource(service.data, videoId, big)
  }
})

test('a part in the middle without a total beside parts with one', async () => {
  const videoId = await newVideo()
  for (const [part, range] of [
    [2, 'part 3/3'],
    [1, 'part 2/*'],
    [0, 'part 1/3'],
  ] as const)
    assert.equal((await sendFile(sourceOf(videoId), parts[part]!, { range })).status, 201)
  await assertSource(service.data, videoId, big)
})

test('a total that only a repeated piece states ends the upload', async () => {
  const videoId = await newVideo()
  const two = big.subarray(0, 10 * MiB)
  for (const range of ['part 1/*', 'part 2/*', 'part 2/2']) {
    const part = range.startsWith('part 1') ? parts[0] : parts[1]
    assert.equal((await sendFile(sourceOf(videoId), part, { range })).status, 201)
  }
  assert.deepEqual(await ingestOf(videoId), byParts([1, 2], 2, 10 * MiB, 'uploaded'))
  await assertSource(service.data, videoId, two)

  const byBytes = await newVideo()
  for (const total of ['*', 5 * MiB]) {
    const range = `bytes 0-${5 * MiB - 1}/${total}`
    assert.equal((await sendFile(sourceOf(byBytes), parts[0], { range })).status, 201)
  }
  await assertSource(service.data, byBytes, parts[0])
})

test('a piece that is sent again as it was is taken again, during the upload and after it', async () => {
  const videoId = await newVideo()
  const send = (i: number) => sendFile(sourceOf(videoId), parts[i]!, { range: `part ${i + 1}/3` })
  for (const i of [0, 0, 1, 1, 0, 2]) assert.equal((await send(i)).status, 201)
  await assertSource(service.data, videoId, big)
  for (const i of [0, 1, 2]) {
    const { status, body } = await send(i)
    assert.deepEqual([status, body.videoId], [201, videoId])
  }
  await assertSource(service.data, videoId, big)

  const whole = await newVideo()
  for (let n = 0; n < 3; n++) assert.equal((await sendFile(sourceOf(whole), small)).status, 201)
  await assertSource(service.data, whole, small)

  const bytes = await newVideo()
  const range = `bytes ${5 * MiB}-${10 * MiB - 1}/${10 * MiB}`
  for (let n = 0; n < 2; n++) assert.equal((await sendFile(sourceOf(bytes), parts[1], { range })).status, 201)
  assert.equal((await ingestOf(bytes)).receivedBytes.length, 1)
})

test('the same piece sent twice at once counts once', async () => {
  const videoId = await newVideo()
  const send = (i: number) => sendFile(sourceOf(videoId), parts[i]!, { range: `part ${i + 1}/3` })
  const answers = await Promise.all([0, 0, 1, 1, 2, 2].map(send))
  for (const { status, text } of answers) assert.equal(status, 201, text)
  assert.deepEqual(await ingestOf(videoId), byParts([1, 2, 3], 3, big.length, 'uploaded'))
  await assertSource(service.data, videoId, big)
})

test('two processes on one store take parts of one upload at once', async (t) => {
  const one = await kinora(t, withoutEncoding())
  const two = await startKinora({
    KINORA_DATABASE_URL: one.database,
    KINORA_DATA_DIR: one.data,
    KINORA_LOG_LEVEL: 'warn',
  })
  t.after(() => two.stop())
  for (let round = 0; round < 3; round++) {
    const { body } = await call(`${one.url}/videos`, { method: 'POST', json: { title: 'Shared' } })
    const answers = await Promise.all(
      parts.map((part, i) =>
        sendFile(sourceOf(body.videoId, (i % 2 ? one : two).url), part, { range: `part ${i + 1}/3` }),
      ),
    )
    for (const { status, text } of answers) assert.equal(status, 201, text)
    await assertSource(one.data, body.videoId, big)
  }
  await two.stop()
})

// --- deleting

test('a deleted video takes its files along', async () => {
  const videoId = await newVideo()
  assert.equal((await sendFile(sourceOf(videoId), small)).status, 201)
  await assertSource(service.data, videoId, small)
  await chunking().videos.delete(videoId)
  await waitFor(async () => !(await isThere(join(service.data, 'files/videos', videoId))))
})

test('a video that is deleted between two parts takes them along, and further parts find nothing', async () => {
  const videoId = await newVideo()
  assert.equal((await sendFile(sourceOf(videoId), parts[0], { range: 'part 1/3' })).status, 201)
  const [{ handle }] = await query(service.database, 'select handle from sources where video_id = $1', [
    videoId,
  ])
  const pending = join(service.data, 'files/.uploads', handle)
  assert.equal(await isThere(pending), true)
  await chunking().videos.delete(videoId)
  await waitFor(async () => !(await isThere(pending)))
  const answer = await sendFile(sourceOf(videoId), parts[1], { range: 'part 2/3' })
  assertProblem(answer, 404, 'resource-not-found', 'videoId')
})

test('a video that is deleted while a file arrives is gone, and the sender is told so', async () => {
  for (const range of [undefined, 'part 1/2', `bytes 0-${big.length - 1}/${big.length}`]) {
    const videoId = await newVideo()
    const upload = openUpload(sourceOf(videoId), big, range === undefined ? {} : { range })
    await upload.write(3 * MiB)
    const handle = async () =>
      (await query(service.database, 'select handle from sources where video_id = $1', [videoId]))[0]?.handle
    await waitFor(async () => (await handle()) !== undefined)
    const pending = join(service.data, 'files/.uploads', await handle())
    await chunking().videos.delete(videoId)
    await waitFor(async () => !(await isThere(pending)))
    const answer = await upload.end()
    assertProblem(answer, 404, 'resource-not-found', 'videoId')
    assert.equal(await isThere(pending), false)
    assert.equal(await isThere(join(service.data, 'files/videos', videoId)), false)
  }
})

test('the service has logged no error in all of this', () => {
  assert.doesNotMatch(service.output(), /request failed|"level":"(error|fatal)"/)
})
