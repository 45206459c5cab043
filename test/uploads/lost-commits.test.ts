import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdir, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import {
  assertProblem,
  assertSource,
  call,
  createDatabase,
  type Kinora,
  MiB,
  productionKey,
  query,
  sendFile,
  startKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { type LossyPostgres, lossyPostgres } from '../support/lossy-postgres.ts'
import { createVideo, sourceUrl } from '../support/videos.ts'

// A commit whose response is lost has succeeded. Its files must stay, and the client continues when it tries again.

const small = randomBytes(20_000)
const [first, last] = [randomBytes(5 * MiB), randomBytes(1_000)] as const
let service: Kinora
let postgres: LossyPostgres
let database = ''
let data = ''
const ends: (() => unknown)[] = []

before(async () => {
  const t = { after: (end: () => unknown) => ends.push(end) }
  t.after(() => service?.stop())
  database = await createDatabase(t)
  data = await temporaryFolder(t)
  postgres = await lossyPostgres(t, database)
  service = await startKinora({
    KINORA_DATABASE_URL: postgres.url,
    KINORA_DATA_DIR: data,
    KINORA_PRODUCTION_KEY: productionKey,
    KINORA_ALLOW_PRIVATE_NETWORKS: 'true',
    KINORA_LOG_LEVEL: 'warn',
  })
})
after(async () => {
  for (const end of ends) await end()
})

const insertsSource = /insert into "sources"/

const tusHeaders = { 'tus-resumable': '1.0.0' }
const createTus = (length: number, videoId?: string) =>
  call(`${service.url}/tus`, {
    method: 'POST',
    headers: {
      ...tusHeaders,
      'upload-length': String(length),
      ...(videoId && { 'upload-metadata': `videoId ${btoa(videoId)}` }),
    },
  })

const patch = (uploadUrl: string, offset: number, body: string) =>
  call(uploadUrl, {
    method: 'PATCH',
    key: '',
    headers: {
      ...tusHeaders,
      'upload-offset': String(offset),
      'content-type': 'application/offset+octet-stream',
    },
    body,
  })

test('if the response to the insert of a source is lost, the file is accepted when it is sent again', async () => {
  const forms = [
    { range: undefined, content: small },
    { range: 'part 1/1', content: small },
    { range: `bytes 0-${small.length - 1}/${small.length}`, content: small },
  ]
  for (const { range, content } of forms) {
    const videoId = await createVideo(service)
    const options = range === undefined ? {} : { range }
    const lost = postgres.loseCommitOf(insertsSource)
    assertProblem(await sendFile(sourceUrl(service, videoId), content, options), 503, 'service-unavailable')
    await lost
    assert.equal((await query(database, 'select from sources where video_id = $1', [videoId])).length, 1)
    const again = await sendFile(sourceUrl(service, videoId), content, options)
    assert.equal(again.status, 201, again.text)
    await assertSource(data, videoId, content)
  }
})

test('if the response to the commit of a first part with a token is lost, the next part completes the upload', async () => {
  const { token } = (await call(`${service.url}/upload-tokens`, { method: 'POST', json: {} })).body
  const send = (content: Buffer, range: string) =>
    sendFile(`${service.url}/upload?token=${token}`, content, { key: '', range })
  const lost = postgres.loseCommitOf(insertsSource)
  assertProblem(await send(first, 'part 1/2'), 503, 'service-unavailable')
  await lost
  const response = await send(last, 'part 2/2')
  assert.equal(response.status, 201, response.text)
  await assertSource(data, response.body.videoId, Buffer.concat([first, last]))
})

test('if the response to the commit of a chunk is lost, its bytes stay, in a part upload and in a tus upload', async () => {
  const videoId = await createVideo(service)
  const lostPart = postgres.loseCommitOf(/update source_pieces set size/)
  assertProblem(
    await sendFile(sourceUrl(service, videoId), first, { range: 'part 1/2' }),
    503,
    'service-unavailable',
  )
  await lostPart
  for (const [range, content] of [
    ['part 1/2', first],
    ['part 2/2', last],
  ] as const)
    assert.equal((await sendFile(sourceUrl(service, videoId), content, { range })).status, 201)
  await assertSource(data, videoId, Buffer.concat([first, last]))

  const created = await createTus(8)
  const uploadUrl = created.headers.get('location') ?? ''
  const lostPatch = postgres.loseCommitOf(/insert into source_pieces/)
  assertProblem(await patch(uploadUrl, 0, 'abcd'), 503, 'service-unavailable')
  await lostPatch
  const { headers } = await call(uploadUrl, { method: 'HEAD', key: '', headers: tusHeaders })
  assert.equal(headers.get('upload-offset'), '4')
  assert.equal((await patch(uploadUrl, 4, 'efgh')).status, 204)
  await assertSource(data, created.headers.get('x-video-id') ?? '', Buffer.from('abcdefgh'))
})

test('if the response to the commit of a tus creation is lost, the client can create the upload again', async () => {
  const before = (await query(database, 'select from videos')).length
  const lost = postgres.loseCommitOf(insertsSource)
  assertProblem(await createTus(4), 503, 'service-unavailable')
  await lost
  assert.equal((await query(database, 'select from videos')).length, before)

  const videoId = await createVideo(service)
  const lostAgain = postgres.loseCommitOf(insertsSource)
  assertProblem(await createTus(4, videoId), 503, 'service-unavailable')
  await lostAgain
  const created = await createTus(4, videoId)
  assert.equal(created.status, 201, created.text)
  assert.equal((await patch(created.headers.get('location') ?? '', 0, 'abcd')).status, 204)
  await assertSource(data, videoId, Buffer.from('abcd'))
  await waitFor(async () => (await readdir(join(data, 'files/.uploads'))).length === 0)
})

test('if the response to the insert of a fetched source is lost, the source is fetched', async (t) => {
  const origin = createServer((_, response) => response.end(small)).listen(0, '127.0.0.1')
  t.after(() => origin.close())
  await once(origin, 'listening')
  const lost = postgres.loseCommitOf(insertsSource)
  const videoId = await createVideo(service, {
    source: `http://127.0.0.1:${(origin.address() as AddressInfo).port}/film.mp4`,
  })
  await lost
  await assertSource(data, videoId, small)
})

test('an upload that has received nothing and whose folder is missing starts again', async () => {
  const videoId = await createVideo(service)
  // A rejected chunk leaves the row.
  assert.equal((await sendFile(sourceUrl(service, videoId), last, { range: 'part 1/2' })).status, 400)
  const [{ handle }] = await query(database, 'select handle from sources where video_id = $1', [videoId])
  await rm(join(data, 'files/.uploads', handle), { recursive: true })
  const responses = await Promise.all([
    sendFile(sourceUrl(service, videoId), first, { range: 'part 1/2' }),
    sendFile(sourceUrl(service, videoId), last, { range: 'part 2/2' }),
  ])
  for (const { status, text } of responses) assert.equal(status, 201, text)
  await assertSource(data, videoId, Buffer.concat([first, last]))
})
