import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { type ClientRequest, request } from 'node:http'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { startFauxqs } from 'fauxqs'
import * as tus from 'tus-js-client'
import {
  assertProblem,
  call,
  createDatabase,
  kinora,
  productionKey,
  query,
  sandboxKey,
  sendFile,
  sharedKinora,
  startKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { onePixel } from '../support/media/one-pixel.ts'
import { withoutEncoding } from '../support/programs.ts'
import { markEncoded } from '../support/videos.ts'

const MiB = 1024 * 1024
const basic = (key: string) => `Basic ${btoa(`${key}:`)}`

const service = sharedKinora(withoutEncoding())

type Options = Partial<tus.UploadOptions>

/** Returns the upload, and a promise that settles when it ends. */
function upload(endpoint: string, content: Buffer, options: Options = {}) {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const sending = new tus.Upload(content, {
    endpoint,
    headers: { authorization: basic(productionKey) },
    metadata: { filename: 'holiday.mp4' },
    retryDelays: null as never,
    onSuccess: () => resolve(),
    onError: reject,
    ...options,
  })
  return { sending, done: promise }
}

async function uploadAll(endpoint: string, content: Buffer, options: Options = {}): Promise<string> {
  const { sending, done } = upload(endpoint, content, options)
  sending.start()
  await done
  return sending.url ?? ''
}

const videoIdOf = (uploadUrl: string) => /\/tus\/(vi\w{22})-/.exec(uploadUrl)?.[1] ?? ''

/** Waits until the source is stored, and compares its content. */
async function assertStored(folder: string, videoId: string, content: Buffer): Promise<void> {
  const path = join(folder, 'files/videos', videoId, 'source')
  await waitFor(async () => (await readFile(path).catch(() => undefined)) !== undefined)
  assert.ok((await readFile(path)).equals(content), 'the stored file differs from the content that was sent')
}

const head = (uploadUrl: string) =>
  call(uploadUrl, { method: 'HEAD', key: '', headers: { 'tus-resumable': '1.0.0' } })

const offsetAt = async (uploadUrl: string) => Number((await head(uploadUrl)).headers.get('upload-offset'))

type Patch = { offset: number; body: Buffer; headers?: Record<string, string>; method?: string }

async function patch(uploadUrl: string, { offset, body, headers, method = 'PATCH' }: Patch) {
  const response = await fetch(uploadUrl, {
    method,
    headers: {
      'tus-resumable': '1.0.0',
      'upload-offset': String(offset),
      'content-type': 'application/offset+octet-stream',
      ...headers,
    },
    body: new Uint8Array(body),
  })
  return { status: response.status, text: await response.text(), headers: response.headers }
}

async function create(url: string, headers: Record<string, string>, { key = productionKey } = {}) {
  return call(url, { method: 'POST', key, headers: { 'tus-resumable': '1.0.0', ...headers } })
}

async function createEmpty(url: string, length: number): Promise<string> {
  const created = await create(`${url}/tus`, { 'upload-length': String(length) })
  assert.equal(created.status, 201, created.text)
  return created.headers.get('location') ?? ''
}

/** Sends only a part of the declared body, and keeps the connection open. */
function patchPartially(
  uploadUrl: string,
  offset: number,
  declaredBytes: number,
  part: Buffer,
  { method = 'PATCH', headers = {} }: { method?: string; headers?: Record<string, string> } = {},
) {
  const sent = request(uploadUrl, {
    method,
    agent: false,
    headers: {
      'tus-resumable': '1.0.0',
      'upload-offset': offset,
      'content-type': 'application/offset+octet-stream',
      'content-length': declaredBytes,
      ...headers,
    },
  })
  sent.on('error', () => {})
  sent.write(part)
  return sent
}

/**
 * Waits until the service has read all bytes that were written: /proc/net/tcp shows an empty send queue of the client
 * and an empty receive queue of the service.
 */
async function untilReceived(sent: ClientRequest): Promise<void> {
  await waitFor(async () => {
    const { localPort, remotePort, writableLength } = sent.socket ?? {}
    if (!localPort || !remotePort || writableLength !== 0) return false
    const ports = [localPort, remotePort].map((port) => port.toString(16).toUpperCase().padStart(4, '0'))
    const [client, service] = [ports.join(' '), ports.toReversed().join(' ')]
    const queues = new Map<string, string>()
    for (const line of (await readFile('/proc/net/tcp', 'utf8')).split('\n')) {
      const [, local = '', remote = '', , queue = ''] = line.trim().split(/\s+/)
      queues.set(`${local.split(':')[1]} ${remote.split(':')[1]}`, queue)
    }
    const isSent = queues.get(client)?.startsWith('00000000:')
    return isSent === true && queues.get(service)?.endsWith(':00000000') === true
  })
}

test('tus-js-client uploads a small file with an API key, and the status shows it', async () => {
  const { url, data: folder } = service
  const content = randomBytes(100_000)
  const uploadUrl = await uploadAll(`${url}/tus`, content)
  assert.ok(uploadUrl.startsWith(`${url}/tus/vi`), uploadUrl)
  const videoId = videoIdOf(uploadUrl)
  await assertStored(folder, videoId, content)
  const { body: video } = await call(`${url}/videos/${videoId}`)
  assert.equal(video.title, 'holiday')
  const { body: status } = await call(`${url}/videos/${videoId}/status`)
  assert.equal(status.ingest.status, 'uploaded')
  assert.equal(status.ingest.filesize, content.length)
  assert.deepEqual(status.ingest.receivedBytes, [{ from: 0, to: 99_999, total: 100_000 }])
  assert.equal(
    await offsetAt(uploadUrl),
    content.length,
    'a client that lost the last response can see that the upload is complete',
  )
})

test('tus-js-client uploads 12 MiB in chunks of 5 MiB', async () => {
  const { url, data: folder } = service
  const content = randomBytes(12 * MiB)
  const uploadUrl = await uploadAll(`${url}/tus`, content, { chunkSize: 5 * MiB })
  await assertStored(folder, videoIdOf(uploadUrl), content)
})

test('a client can send the content with the creation, or in chunks of any size', async () => {
  const { url, data: folder } = service
  const content = randomBytes(700_001)
  const single = await uploadAll(`${url}/tus`, content, { uploadDataDuringCreation: true })
  await assertStored(folder, videoIdOf(single), content)
  const small = await uploadAll(`${url}/tus`, content, { chunkSize: 50_000 })
  await assertStored(folder, videoIdOf(small), content)
})

test('a client can declare the length with the last bytes, or after them', async () => {
  const { url, data: folder } = service
  const content = randomBytes(3 * MiB)
  const uploadUrl = await createDeferred(`${url}/tus`)
  assert.equal((await head(uploadUrl)).headers.get('upload-defer-length'), '1')
  assert.equal((await patch(uploadUrl, { offset: 0, body: content.subarray(0, MiB) })).status, 204)
  const headers = { 'upload-length': String(content.length) }
  assert.equal((await patch(uploadUrl, { offset: MiB, body: content.subarray(MiB), headers })).status, 204)
  await assertStored(folder, videoIdOf(uploadUrl), content)

  const late = await createDeferred(`${url}/tus`)
  await patch(late, { offset: 0, body: content })
  assert.equal((await patch(late, { offset: content.length, body: Buffer.alloc(0), headers })).status, 204)
  await assertStored(folder, videoIdOf(late), content)
})

async function createDeferred(url: string): Promise<string> {
  const created = await create(url, { 'upload-defer-length': '1' })
  assert.equal(created.status, 201, created.text)
  return created.headers.get('location') ?? ''
}

test('an aborted upload continues at the stored offset', async () => {
  const { url, data: folder } = service
  const content = randomBytes(12 * MiB)
  const accepted = Promise.withResolvers<void>()
  const first = upload(`${url}/tus`, content, {
    chunkSize: 5 * MiB,
    onChunkComplete: () => accepted.resolve(),
  })
  first.sending.start()
  await accepted.promise
  await first.sending.abort()
  const uploadUrl = first.sending.url ?? ''
  const offset = await offsetAt(uploadUrl)
  assert.ok(offset >= 5 * MiB && offset < content.length, String(offset))
  // The aborted request may still be on its way. The offset then changes once more, and the client asks for it again.
  const options = { uploadUrl, retryDelays: [0, 1_000, 3_000, 5_000] }
  assert.equal(await uploadAll(`${url}/tus`, content, options), uploadUrl)
  await assertStored(folder, videoIdOf(uploadUrl), content)
})

test('bytes that arrive before the connection drops count', async () => {
  const { url, data: folder } = service
  const content = randomBytes(2 * MiB)
  const uploadUrl = await createEmpty(url, content.length)
  const cut = patchPartially(uploadUrl, 0, content.length, content.subarray(0, 300_000))
  await untilReceived(cut)
  cut.destroy()
  await waitFor(async () => (await offsetAt(uploadUrl)) === 300_000)
  assert.equal(await uploadAll(`${url}/tus`, content, { uploadUrl }), uploadUrl)
  await assertStored(folder, videoIdOf(uploadUrl), content)
})

test('a new request of a client ends its previous request, which still hangs', async (t) => {
  const { url, data: folder } = service
  const content = randomBytes(2 * MiB)
  const uploadUrl = await createEmpty(url, content.length)
  const hanging = patchPartially(uploadUrl, 0, content.length, content.subarray(0, MiB))
  t.after(() => hanging.destroy())
  await untilReceived(hanging)
  await waitFor(async () => (await offsetAt(uploadUrl)) === MiB)
  assert.equal((await patch(uploadUrl, { offset: MiB, body: content.subarray(MiB) })).status, 204)
  await assertStored(folder, videoIdOf(uploadUrl), content)
})

test('a new request to another process ends the previous request, which still hangs', async (t) => {
  const one = service
  const env = {
    KINORA_DATABASE_URL: one.database,
    KINORA_DATA_DIR: one.data,
    KINORA_LOG_LEVEL: 'warn',
    KINORA_ROLES: 'api',
  }
  const two = await startKinora(env)
  t.after(() => two.stop())
  const content = randomBytes(2 * MiB)
  const uploadUrl = await createEmpty(one.url, content.length)
  const elsewhere = uploadUrl.replace(one.url, two.url)
  const hanging = patchPartially(uploadUrl, 0, content.length, content.subarray(0, MiB))
  t.after(() => hanging.destroy())
  await untilReceived(hanging)
  await waitFor(async () => (await offsetAt(elsewhere)) === MiB)
  assert.equal((await patch(elsewhere, { offset: MiB, body: content.subarray(MiB) })).status, 204)
  await assertStored(one.data, videoIdOf(uploadUrl), content)
})

test('a byte range in a form upload does not overwrite bytes that were sent with tus', async () => {
  const { url, data: folder } = service
  const content = randomBytes(2 * MiB)
  const uploadUrl = await createEmpty(url, content.length)
  await patch(uploadUrl, { offset: 0, body: content.subarray(0, MiB) })
  const form = new FormData()
  form.set('file', new Blob([content]), 'x.mp4')
  const overlapping = await fetch(`${url}/videos/${videoIdOf(uploadUrl)}/source`, {
    method: 'POST',
    headers: { authorization: basic(productionKey), 'content-range': `bytes 0-${2 * MiB - 1}/${2 * MiB}` },
    body: form,
  })
  assert.equal(overlapping.status, 400)
  assert.equal((await patch(uploadUrl, { offset: MiB, body: content.subarray(MiB) })).status, 204)
  await assertStored(folder, videoIdOf(uploadUrl), content)
})

test('concurrent requests with the same offset do not corrupt the file', async () => {
  const { url, data: folder } = service
  const content = randomBytes(6 * MiB)
  const uploadUrl = await createEmpty(url, content.length)
  const responses = await Promise.all([1, 2, 3].map(() => patch(uploadUrl, { offset: 0, body: content })))
  const statuses = responses.map(({ status }) => status)
  assert.ok(
    statuses.every((status) => [204, 409].includes(status)),
    String(statuses),
  )
  const offset = await offsetAt(uploadUrl)
  if (offset < content.length) await patch(uploadUrl, { offset, body: content.subarray(offset) })
  await assertStored(folder, videoIdOf(uploadUrl), content)
})

test('an upload token is sufficient, and a missing or invalid one is rejected', async () => {
  const { url, data: folder } = service
  const content = randomBytes(50_000)
  const { body: token } = await call(`${url}/upload-tokens`, { method: 'POST', json: {} })
  const endpoint = `${url}/tus?token=${token.token}`
  const uploadUrl = await uploadAll(endpoint, content, { headers: {}, metadata: { title: 'By token' } })
  await assertStored(folder, videoIdOf(uploadUrl), content)
  assert.equal((await call(`${url}/videos/${videoIdOf(uploadUrl)}`)).body.title, 'By token')

  const length = { 'upload-length': '5' }
  const none = { key: '' }
  assertProblem(await create(`${url}/tus`, length, none), 401, 'authentication-missing-authorization-header')
  assertProblem(await create(`${url}/tus`, length, { key: 'wrong' }), 401, 'authentication-invalid-api-key')
  assertProblem(
    await create(`${url}/tus?token=toWrong`, length, none),
    401,
    'authentication-invalid-upload-token',
  )
  const twice = `${url}/tus?token=${token.token}&token=x`
  assert.equal((await create(twice, length, none)).status, 401)
  const foreign = `${url}/sandbox/tus?token=${token.token}`
  assertProblem(await create(foreign, length, none), 401, 'authentication-invalid-upload-token')
  await assert.rejects(
    uploadAll(`${url}/tus`, content, { headers: {} }),
    (error) => error instanceof tus.DetailedError && error.originalResponse?.getStatus() === 401,
  )
  assert.equal((await call(`${url}/videos`)).body.pagination.itemsTotal, 1)
})

test('uploads of the sandbox are separate from uploads of production', async () => {
  const { url, data: folder } = service
  const content = randomBytes(50_000)
  const headers = { authorization: `Bearer ${sandboxKey}` }
  const uploadUrl = await uploadAll(`${url}/sandbox/tus`, content, { headers, chunkSize: 30_000 })
  assert.ok(uploadUrl.startsWith(`${url}/sandbox/tus/vi`), uploadUrl)
  await assertStored(folder, videoIdOf(uploadUrl), content)
  assert.equal((await head(uploadUrl.replace('/sandbox', ''))).status, 200)

  const production = await uploadAll(`${url}/tus`, content)
  assert.equal((await head(production.replace('/tus/', '/sandbox/tus/'))).status, 404)
})

test('without the /sandbox prefix, the key or token determines the environment of an upload', async () => {
  const { url, data: folder } = service
  const content = randomBytes(50_000)
  const { body: token } = await call(`${url}/upload-tokens`, { method: 'POST', key: sandboxKey, json: {} })
  const byKey = { headers: { authorization: `Bearer ${sandboxKey}` } }
  const byToken = { headers: {} }
  for (const [endpoint, options] of [
    [`${url}/tus`, byKey],
    [`${url}/tus?token=${token.token}`, byToken],
  ] as const) {
    const uploadUrl = await uploadAll(endpoint, content, { ...options, chunkSize: 30_000 })
    assert.ok(uploadUrl.startsWith(`${url}/tus/vi`), uploadUrl)
    await assertStored(folder, videoIdOf(uploadUrl), content)
    const video = `${url}/videos/${videoIdOf(uploadUrl)}`
    assert.deepEqual(
      [(await call(video, { key: sandboxKey })).status, (await call(video)).status],
      [200, 404],
    )
  }

  const { headers } = await create(`${url}/tus`, { 'upload-length': '5' }, { key: sandboxKey })
  const unfinished = headers.get('location')!
  assert.equal((await call(`${url}/videos`, { key: sandboxKey })).body.pagination.itemsTotal, 3)
  await call(unfinished, { method: 'DELETE', key: '', headers: { 'tus-resumable': '1.0.0' } })
  assert.equal((await call(`${url}/videos`, { key: sandboxKey })).body.pagination.itemsTotal, 2)
})

test('an upload can create a video with a watermark of its environment', async () => {
  const { url, database } = service
  const add = async (key: string): Promise<string> =>
    (await sendFile(`${url}/watermarks`, onePixel, { key })).body.watermarkId
  const metadata = (id: string) => ({ filename: 'a.mp4', watermark: JSON.stringify({ id, right: '2%' }) })
  const elsewhere = await add(sandboxKey)
  const refused = upload(`${url}/tus`, randomBytes(10), { metadata: metadata(elsewhere) })
  refused.sending.start()
  await assert.rejects(refused.done, /watermark\[id\]/)
  const id = await add(productionKey)
  const uploadUrl = await uploadAll(`${url}/tus`, randomBytes(10), { metadata: metadata(id) })
  const [row] = await query(database, 'select watermark from videos where id = $1', [videoIdOf(uploadUrl)])
  assert.deepEqual([row.watermark.id, row.watermark.position], [id, { right: { value: 2, unit: '%' } }])
})

test('an upload can fill an existing video, but only once', async () => {
  const { url, data: folder } = service
  const content = randomBytes(50_000)
  const { body: video } = await call(`${url}/videos`, { method: 'POST', json: { title: 'Mine' } })
  const metadata = { filename: 'x.mp4', videoId: video.videoId, title: 'not this' }
  const uploadUrl = await uploadAll(`${url}/tus`, content, { metadata })
  assert.equal(videoIdOf(uploadUrl), video.videoId)
  await assertStored(folder, video.videoId, content)
  await markEncoded(service.database, video.videoId)
  assert.equal((await call(`${url}/videos/${video.videoId}`)).body.title, 'Mine')
  const named = (id: string) => ({ 'upload-length': '5', 'upload-metadata': `videoId ${btoa(id)}` })
  assertProblem(await create(`${url}/tus`, named(video.videoId)), 400, 'video-source-already-uploaded')
  assertProblem(await create(`${url}/tus`, named('viUnknown')), 404, 'resource-not-found', 'videoId')
})

test('HEAD returns the metadata and the id of the video together with the offset', async () => {
  const { url } = service
  const metadata = `filename ${btoa('a.mp4')},filetype ${btoa('video/mp4')},relativePath`
  const created = await create(`${url}/tus`, { 'upload-length': '5', 'upload-metadata': metadata })
  const uploadUrl = created.headers.get('location') ?? ''
  const videoId = videoIdOf(uploadUrl)
  assert.equal(created.headers.get('x-video-id'), videoId)
  assert.ok(Date.parse(created.headers.get('upload-expires') ?? '') > Date.now() + 6 * 24 * 3_600_000)
  const { headers } = await head(uploadUrl)
  assert.equal(headers.get('upload-metadata'), `${metadata},videoId ${btoa(videoId)}`)
  assert.equal(headers.get('x-video-id'), videoId)
  assert.equal(headers.get('upload-length'), '5')
  assert.equal(headers.get('cache-control'), 'no-store')
})

test('DELETE does not remove a complete upload', async () => {
  const { url, data: folder } = service
  const content = randomBytes(1_000)
  const uploadUrl = await uploadAll(`${url}/tus`, content)
  const headers = { 'tus-resumable': '1.0.0' }
  assert.equal((await call(uploadUrl, { method: 'DELETE', key: '', headers })).status, 400)
  await assertStored(folder, videoIdOf(uploadUrl), content)
})

test('bytes that do not match their checksum do not count', async () => {
  const { url, data: folder } = service
  const content = randomBytes(MiB)
  const uploadUrl = await createEmpty(url, content.length)
  const sum = (name: string, of: Buffer) => ({
    'upload-checksum': `${name} ${createHash(name).update(of).digest('base64')}`,
  })
  const half = content.subarray(0, MiB / 2)
  const other = randomBytes(MiB / 2)
  assert.equal((await patch(uploadUrl, { offset: 0, body: other, headers: sum('sha1', half) })).status, 460)
  assert.equal(await offsetAt(uploadUrl), 0)
  const unknown = { 'upload-checksum': 'crc32 AAAA' }
  assert.equal((await patch(uploadUrl, { offset: 0, body: half, headers: unknown })).status, 400)
  assert.equal((await patch(uploadUrl, { offset: 0, body: half, headers: sum('sha1', half) })).status, 204)
  const rest = content.subarray(MiB / 2)
  assert.equal(
    (await patch(uploadUrl, { offset: MiB / 2, body: rest, headers: sum('sha256', rest) })).status,
    204,
  )
  await assertStored(folder, videoIdOf(uploadUrl), content)
})

test('requests that violate the protocol are rejected with the status of the protocol and a problem body', async () => {
  const { url } = service
  const uploadUrl = await createEmpty(url, 10)
  const body = Buffer.from('12345')
  const assertRejectedPatch = async (
    at: string,
    options: Partial<Patch>,
    status: number,
    slug: string,
    name?: string,
  ) => {
    const response = await patch(at, { offset: 0, body, ...options })
    assertProblem({ ...response, body: JSON.parse(response.text || '{}') }, status, slug, name)
    assert.equal(response.headers.get('tus-resumable'), '1.0.0')
    return response
  }
  const headers = (changed: Record<string, string>) => ({ headers: changed })
  await assertRejectedPatch(uploadUrl, { offset: 3 }, 409, 'upload-offset-conflict', 'Upload-Offset')
  await assertRejectedPatch(uploadUrl, { body: Buffer.alloc(11) }, 413, 'upload-too-large')
  const media = headers({ 'content-type': 'video/mp4' })
  await assertRejectedPatch(uploadUrl, media, 415, 'unsupported-media-type', 'Content-Type')
  const version = headers({ 'tus-resumable': '0.2.2' })
  const old = await assertRejectedPatch(uploadUrl, version, 412, 'tus-version-not-supported', 'Tus-Resumable')
  assert.equal(old.headers.get('tus-version'), '1.0.0')
  for (const name of ['Upload-Offset', 'Upload-Length'])
    await assertRejectedPatch(
      uploadUrl,
      headers({ [name.toLowerCase()]: '-1' }),
      400,
      'invalid-tus-request',
      name,
    )
  await assertRejectedPatch(
    uploadUrl,
    headers({ 'upload-length': '20' }),
    400,
    'invalid-tus-request',
    'Upload-Length',
  )
  const missing = [
    `${uploadUrl}0`,
    `${uploadUrl.slice(0, -1)}g`,
    `${url}/tus/${videoIdOf(uploadUrl)}`,
    `${url}/tus/%2e%2e%2fx`,
  ]
  for (const at of missing) await assertRejectedPatch(at, {}, 404, 'resource-not-found', 'upload')
  await assertRejectedPatch(uploadUrl, { method: 'POST' }, 405, 'method-not-allowed')
  assert.equal(await offsetAt(uploadUrl), 0)

  const assertRejectedCreation = async (
    headers: Record<string, string>,
    status: number,
    slug: string,
    name?: string,
  ) => assertProblem(await create(`${url}/tus`, headers), status, slug, name)
  const invalid = 'invalid-tus-request'
  await assertRejectedCreation({}, 400, invalid, 'Upload-Length')
  await assertRejectedCreation({ 'upload-length': '-5' }, 400, invalid, 'Upload-Length')
  await assertRejectedCreation({ 'upload-length': '0' }, 400, 'uploaded-file-empty', 'Upload-Length')
  await assertRejectedCreation(
    { 'upload-length': '9223372036854776000' },
    413,
    'upload-too-large',
    'Upload-Length',
  )
  await assertRejectedCreation(
    { 'upload-length': '5', 'upload-defer-length': '1' },
    400,
    invalid,
    'Upload-Length',
  )
  const metadata = (value: string) => ({ 'upload-length': '5', 'upload-metadata': value })
  await assertRejectedCreation(metadata('filename %%%'), 400, invalid, 'Upload-Metadata')
  await assertRejectedCreation(metadata(`title ${btoa('a\0b')}`), 400, 'invalid-attribute', 'title')
  await assertRejectedCreation(metadata(`title ${btoa('x'.repeat(1001))}`), 400, 'invalid-attribute', 'title')
  for (const watermark of ['{', '"id"', 'null', '{"opacity": 5}'])
    await assertRejectedCreation(
      metadata(`watermark ${btoa(watermark)}`),
      400,
      'invalid-attribute',
      'watermark',
    )
  const parallel = { 'upload-length': '5', 'upload-concat': 'partial' }
  await assertRejectedCreation(parallel, 501, 'tus-extension-not-supported')
  const tooMuch = { 'upload-length': '2', 'content-type': 'application/offset+octet-stream' }
  const response = await call(`${url}/tus`, {
    method: 'POST',
    headers: { 'tus-resumable': '1.0.0', ...tooMuch },
    body: '12345',
  })
  assertProblem(response, 413, 'upload-too-large', 'Upload-Length')
  assert.equal((await call(`${url}/videos`)).body.pagination.itemsTotal, 1)
})

test('an empty Upload-Metadata header is ignored', async () => {
  const { url, data: folder } = service
  // tus-py-client and go-tus send it.
  for (const empty of ['', ' ']) {
    const headers = { 'upload-length': '5', 'upload-metadata': empty }
    const created = await create(`${url}/tus`, headers)
    assert.equal(created.status, 201, created.text)
    const uploadUrl = created.headers.get('location') ?? ''
    const returned = (await head(uploadUrl)).headers.get('upload-metadata')
    assert.equal(returned, `videoId ${btoa(videoIdOf(uploadUrl))}`)
    assert.equal((await patch(uploadUrl, { offset: 0, body: Buffer.from('12345') })).status, 204)
    await assertStored(folder, videoIdOf(uploadUrl), Buffer.from('12345'))
  }
})

test('a client can create the upload of a video again, until bytes have arrived', async () => {
  const { url, data: folder } = service
  const { body: video } = await call(`${url}/videos`, { method: 'POST', json: { title: 'Mine' } })
  const headers = { 'upload-length': '5', 'upload-metadata': `videoId ${btoa(video.videoId)}` }
  const lost = (await create(`${url}/tus`, headers)).headers.get('location') ?? ''
  const again = await create(`${url}/tus`, headers)
  assert.equal(again.status, 201, again.text)
  const uploadUrl = again.headers.get('location') ?? ''
  assert.notEqual(uploadUrl, lost)
  assert.equal((await head(lost)).status, 404)
  assert.equal((await patch(uploadUrl, { offset: 0, body: Buffer.from('12') })).status, 204)
  assertProblem(
    await create(`${url}/tus`, headers),
    400,
    'video-content-range-already-initiated',
    'Content-Range',
  )
  assert.equal((await patch(uploadUrl, { offset: 2, body: Buffer.from('345') })).status, 204)
  await assertStored(folder, video.videoId, Buffer.from('12345'))
})

test('the status of a tus upload shows the received bytes as one range, or null while there are none', async () => {
  const { url } = service
  const uploadUrl = await createEmpty(url, 10)
  const videoId = videoIdOf(uploadUrl)
  const ingest = async () => (await call(`${url}/videos/${videoId}/status`)).body.ingest
  const hanging = patchPartially(uploadUrl, 0, 10, Buffer.alloc(0))
  const isLocked = async () =>
    (
      await query(service.database, 'select from sources where video_id = $1 and lock_until > now()', [
        videoId,
      ])
    ).length === 1
  hanging.flushHeaders()
  await waitFor(isLocked)
  assert.equal(await ingest(), null)
  hanging.destroy()
  await waitFor(async () => !(await isLocked()))
  for (const offset of [0, 1, 2])
    assert.equal((await patch(uploadUrl, { offset, body: Buffer.from('x') })).status, 204)
  assert.deepEqual((await ingest()).receivedBytes, [{ from: 0, to: 2, total: 10 }])
})

test('a client can send POST with X-HTTP-Method-Override instead of PATCH', async () => {
  const { url, data: folder } = service
  const content = randomBytes(60_000)
  const uploadUrl = await uploadAll(`${url}/tus`, content, { overridePatchMethod: true })
  await assertStored(folder, videoIdOf(uploadUrl), content)
})

test('CORS headers allow and expose the headers of the protocol', async () => {
  const { url } = service
  const preflight = {
    origin: 'https://shop.example',
    'access-control-request-method': 'PATCH',
    'access-control-request-headers': 'tus-resumable,upload-offset,content-type',
  }
  for (const endpoint of [`${url}/tus`, `${url}/sandbox/tus`, `${url}/tus/x`]) {
    const { status, headers } = await call(endpoint, { method: 'OPTIONS', key: '', headers: preflight })
    assert.equal(status, 204)
    assert.equal(headers.get('access-control-allow-origin'), '*')
    const methods = headers.get('access-control-allow-methods') ?? ''
    for (const method of ['POST', 'HEAD', 'PATCH', 'DELETE']) assert.ok(methods.includes(method), methods)
    const allowed = headers.get('access-control-allow-headers') ?? ''
    const needed = ['tus-resumable', 'upload-length', 'upload-metadata', 'upload-offset', 'upload-checksum']
    for (const name of [...needed, 'authorization', 'content-type'])
      assert.ok(allowed.includes(name), `${name} is not in ${allowed}`)
    assert.equal(headers.get('tus-version'), '1.0.0')
    assert.match(headers.get('tus-extension') ?? '', /creation,creation-with-upload.*termination.*checksum/)
    assert.match(headers.get('tus-checksum-algorithm') ?? '', /^sha1,/)
  }
  for (const response of [
    await create(`${url}/tus`, { 'upload-length': '5' }),
    await create(`${url}/tus`, { 'upload-length': '5' }, { key: '' }),
    await head(`${url}/tus/x`),
  ]) {
    assert.equal(response.headers.get('access-control-allow-origin'), '*')
    assert.equal(response.headers.get('tus-resumable'), '1.0.0')
    const exposed = response.headers.get('access-control-expose-headers') ?? ''
    for (const name of ['location', 'upload-offset', 'upload-length', 'tus-resumable', 'upload-expires'])
      assert.ok(exposed.includes(name), `${name} is not in ${exposed}`)
  }
})

type Cleanup = { after(end: () => unknown): void }

/** A service with S3 storage, and a function that checks the stored files. */
async function startOnS3(t: Cleanup) {
  const folder = await temporaryFolder(t)
  const open = (port: number) => startFauxqs({ port, host: '127.0.0.1', logger: false, s3StorageDir: folder })
  let store = await open(0)
  const { port } = store
  store.createBucket('videos')
  t.after(() => store.stop())
  const service = await kinora(t, {
    ...withoutEncoding(),
    KINORA_S3_ENDPOINT: `http://127.0.0.1:${port}`,
    KINORA_S3_BUCKET: 'videos',
    KINORA_S3_ACCESS_KEY: 'test',
    KINORA_S3_SECRET_KEY: 'test',
  })
  // The store removes folders of finished uploads, also while they are being read.
  const ifGone = (error: NodeJS.ErrnoException): string[] => {
    if (error.code !== 'ENOENT') throw error
    return []
  }
  const findStored = async (videoId: string) =>
    (await readdir(folder, { recursive: true }).catch(ifGone)).find(
      (path) => path.endsWith('.data') && path.includes(videoId),
    )
  return {
    ...service,
    stopStore: () => store.stop(),
    async startStore() {
      store = await open(port)
    },
    async assertStored(videoId: string, content: Buffer) {
      let path: string | undefined
      await waitFor(async () => {
        path = await findStored(videoId)
        return path !== undefined
      })
      assert.ok(
        (await readFile(join(folder, path!))).equals(content),
        'the stored file differs from the content that was sent',
      )
    },
  }
}

suite('everything that is stored', () => {
  const own = sharedKinora({ KINORA_RESTORE_DAYS: '0', ...withoutEncoding() })

  test('a creation whose client disconnects leaves no video', async () => {
    const { url, data: folder } = own
    const content = randomBytes(MiB)
    const headers = {
      authorization: basic(productionKey),
      'upload-length': String(content.length),
      'upload-offset': '0',
    }
    const sum = { ...headers, 'upload-checksum': 'sha1 AAAA' }
    assert.equal(
      (await patch(`${url}/tus`, { method: 'POST', offset: 0, body: content, headers: sum })).status,
      460,
    )
    const cut = patchPartially(`${url}/tus`, 0, content.length, content.subarray(0, 300_000), {
      method: 'POST',
      headers,
    })
    const videos = async () => (await call(`${url}/videos`)).body.pagination.itemsTotal
    await waitFor(async () => (await videos()) === 1)
    cut.destroy()
    await waitFor(async () => (await videos()) === 0)
    await waitFor(async () => (await readdir(join(folder, 'files/.uploads'))).length === 0)
  })

  test('an upload returns 404 if its video is deleted in the meantime', async () => {
    const { url, data: folder } = own
    const content = randomBytes(8 * MiB)
    const uploadUrl = await createEmpty(url, content.length)
    const running = patchPartially(uploadUrl, 0, content.length, content.subarray(0, 3 * MiB))
    const responded = once(running, 'response')
    await untilReceived(running)
    assert.equal((await call(`${url}/videos/${videoIdOf(uploadUrl)}`, { method: 'DELETE' })).status, 204)
    await waitFor(async () => (await readdir(join(folder, 'files/.uploads'))).length === 0)
    running.end(content.subarray(3 * MiB))
    const [response] = await responded
    assert.equal(response.statusCode, 404)
    response.resume()
    assert.equal((await head(uploadUrl)).status, 404)
    assert.deepEqual(await readdir(join(folder, 'files/.uploads')), [])
  })

  test('a terminated upload leaves nothing behind', async () => {
    const { url, data: folder, database } = own
    const content = randomBytes(2 * MiB)
    const uploadUrl = await createEmpty(url, content.length)
    await patch(uploadUrl, { offset: 0, body: content.subarray(0, MiB) })
    await tus.Upload.terminate(uploadUrl, { headers: {} } as tus.UploadOptions)
    assert.equal((await head(uploadUrl)).status, 404)
    assert.equal((await patch(uploadUrl, { offset: MiB, body: content.subarray(MiB) })).status, 404)
    assert.equal((await call(`${url}/videos/${videoIdOf(uploadUrl)}`)).status, 404)
    await waitFor(async () => (await readdir(join(folder, 'files/.uploads'))).length === 0)
    assert.deepEqual(await query(database, 'select from sources'), [])
    assert.deepEqual(await query(database, 'select from source_pieces'), [])
  })

  test('terminating an upload into an existing video leaves the video empty', async () => {
    const { url, data: folder } = own
    const { body: video } = await call(`${url}/videos`, { method: 'POST', json: { title: 'Mine' } })
    const headers = { 'upload-length': '100', 'upload-metadata': `videoId ${btoa(video.videoId)}` }
    const uploadUrl = (await create(`${url}/tus`, headers)).headers.get('location') ?? ''
    await patch(uploadUrl, { offset: 0, body: randomBytes(50) })
    await tus.Upload.terminate(uploadUrl, { headers: {} } as tus.UploadOptions)
    assert.equal((await call(`${url}/videos/${video.videoId}/status`)).body.ingest, null)
    assert.deepEqual(await readdir(join(folder, 'files/.uploads')), [])
    const content = randomBytes(100)
    await uploadAll(`${url}/tus`, content, { metadata: { videoId: video.videoId } })
    await assertStored(folder, video.videoId, content)
  })
})

test('after SIGKILL an upload continues at the last stored offset', async (t) => {
  const folder = await temporaryFolder(t)
  const env = {
    KINORA_DATABASE_URL: await createDatabase(t),
    KINORA_DATA_DIR: folder,
    KINORA_PRODUCTION_KEY: productionKey,
    KINORA_LOG_LEVEL: 'warn',
  }
  const first = await startKinora(env)
  t.after(() => first.kill())
  const content = randomBytes(24 * MiB)
  const uploadUrl = await createEmpty(first.url, content.length)
  assert.equal((await patch(uploadUrl, { offset: 0, body: content.subarray(0, 5 * MiB) })).status, 204)
  const running = patchPartially(
    uploadUrl,
    5 * MiB,
    content.length - 5 * MiB,
    content.subarray(5 * MiB, 9 * MiB),
  )
  await untilReceived(running)
  await first.kill()

  const second = await startKinora(env)
  t.after(() => second.stop())
  const again = uploadUrl.replace(first.url, second.url)
  const { headers, status } = await head(again)
  assert.equal(status, 200)
  assert.equal(Number(headers.get('upload-offset')), 5 * MiB)
  const options = { uploadUrl: again, chunkSize: 5 * MiB, retryDelays: [0, 1_000, 3_000, 5_000] }
  await uploadAll(`${second.url}/tus`, content, options)
  await assertStored(folder, videoIdOf(again), content)
})

suite('on S3', () => {
  let onS3: Awaited<ReturnType<typeof startOnS3>>
  const ends: (() => unknown)[] = []
  before(async () => {
    onS3 = await startOnS3({ after: (end) => ends.push(end) })
  })
  after(async () => {
    for (const end of ends) await end()
  })

  test('chunks that are smaller than the minimum part size become one file', async () => {
    const { url, assertStored } = onS3
    const content = randomBytes(7 * MiB + 1)
    const uploadUrl = await uploadAll(`${url}/tus`, content, { chunkSize: 1_500_000 })
    await assertStored(videoIdOf(uploadUrl), content)
  })

  test('while the file store is unreachable requests return 503, and the upload continues afterwards', async () => {
    const { url, stopStore, startStore, assertStored } = onS3
    const content = randomBytes(2 * MiB)
    const uploadUrl = await createEmpty(url, content.length)
    assert.equal((await patch(uploadUrl, { offset: 0, body: content.subarray(0, MiB) })).status, 204)
    await stopStore()
    assert.equal((await patch(uploadUrl, { offset: MiB, body: content.subarray(MiB) })).status, 503)
    assert.equal(await offsetAt(uploadUrl), MiB)
    await startStore()
    await uploadAll(`${url}/tus`, content, { uploadUrl })
    await assertStored(videoIdOf(uploadUrl), content)
  })
})
