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
} from './harness.ts'
import { type LossyPostgres, lossyPostgres } from './lossy-postgres.ts'

// A commit whose answer is lost has counted: what it speaks of must stay, and the client goes on when it comes again.

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

async function newVideo(json: object = { title: 'Film' }): Promise<string> {
  return (await call(`${service.url}/videos`, { method: 'POST', json })).body.videoId
}

const sourceOf = (videoId: string) => `${service.url}/videos/${videoId}/source`
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

const patch = (address: string, offset: number, body: string) =>
  call(address, {
    method: 'PATCH',
    key: '',
    headers: {
      ...tusHeaders,
      'upload-offset': String(offset),
      'content-type': 'application/offset+octet-stream',
    },
    body,
  })

test('of a source that was inserted, the upload stays: the file is taken when it is sent again', async () => {
  const forms = [
    { range: undefined, content: small },
    { range: 'part 1/1', content: small },
    { range: `bytes 0-${small.length - 1}/${small.length}`, content: small },
  ]
  for (const { range, content } of forms) {
    const videoId = await newVideo()
    const options = range === undefined ? {} : { range }
    const lost = postgres.loseCommitOf(insertsSource)
    assertProblem(await sendFile(sourceOf(videoId), content, options), 503, 'service-unavailable')
    await lost
    assert.equal((await query(database, 'select from sources where video_id = $1', [videoId])).length, 1)
    const again = await sendFile(sourceOf(videoId), content, options)
    assert.equal(again.status, 201, again.text)
    await assertSource(data, videoId, content)
  }
})

test('of a first part by token whose video was made and noted, everything stays', async () => {
  const { token } = (await call(`${service.url}/upload-tokens`, { method: 'POST', json: {} })).body
  const send = (content: Buffer, range: string) =>
    sendFile(`${service.url}/upload?token=${token}`, content, { key: '', range })
  const lost = postgres.loseCommitOf(insertsSource)
  assertProblem(await send(first, 'part 1/2'), 503, 'service-unavailable')
  await lost
  const answer = await send(last, 'part 2/2')
  assert.equal(answer.status, 201, answer.text)
  await assertSource(data, answer.body.videoId, Buffer.concat([first, last]))
})

test('of a piece that was recorded, the bytes stay, by parts and by tus', async () => {
  const videoId = await newVideo()
  const lostPart = postgres.loseCommitOf(/update source_pieces set size/)
  assertProblem(await sendFile(sourceOf(videoId), first, { range: 'part 1/2' }), 503, 'service-unavailable')
  await lostPart
  for (const [range, content] of [
    ['part 1/2', first],
    ['part 2/2', last],
  ] as const)
    assert.equal((await sendFile(sourceOf(videoId), content, { range })).status, 201)
  await assertSource(data, videoId, Buffer.concat([first, last]))

  const created = await createTus(8)
  const address = created.headers.get('location') ?? ''
  const lostPatch = postgres.loseCommitOf(/insert into source_pieces/)
  assertProblem(await patch(address, 0, 'abcd'), 503, 'service-unavailable')
  await lostPatch
  const { headers } = await call(address, { method: 'HEAD', key: '', headers: tusHeaders })
  assert.equal(headers.get('upload-offset'), '4')
  assert.equal((await patch(address, 4, 'efgh')).status, 204)
  await assertSource(data, created.headers.get('x-video-id') ?? '', Buffer.from('abcdefgh'))
})

test('a tus creation that counted leaves nothing behind, or nothing in the way', async () => {
  const before = (await query(database, 'select from videos')).length
  const lost = postgres.loseCommitOf(insertsSource)
  assertProblem(await createTus(4), 503, 'service-unavailable')
  await lost
  assert.equal((await query(database, 'select from videos')).length, before)

  const videoId = await newVideo()
  const lostAgain = postgres.loseCommitOf(insertsSource)
  assertProblem(await createTus(4, videoId), 503, 'service-unavailable')
  await lostAgain
  const created = await createTus(4, videoId)
  assert.equal(created.status, 201, created.text)
  assert.equal((await patch(created.headers.get('location') ?? '', 0, 'abcd')).status, 204)
  await assertSource(data, videoId, Buffer.from('abcd'))
  await waitFor(async () => (await readdir(join(data, 'files/.uploads'))).length === 0)
})

test('a source that is fetched is fetched all the same', async (t) => {
  const origin = createServer((_, response) => response.end(small)).listen(0, '127.0.0.1')
  t.after(() => origin.close())
  await once(origin, 'listening')
  const lost = postgres.loseCommitOf(insertsSource)
  const videoId = await newVideo({
    source: `http://127.0.0.1:${(origin.address() as AddressInfo).port}/film.mp4`,
  })
  await lost
  await assertSource(data, videoId, small)
})

test('an upload that has received nothing and whose folder is gone begins anew', async () => {
  const videoId = await newVideo()
  // A refused piece leaves the row.
  assert.equal((await sendFile(sourceOf(videoId), last, { range: 'part 1/2' })).status, 400)
  const [{ handle }] = await query(database, 'select handle from sources where video_id = $1', [videoId])
  await rm(join(data, 'files/.uploads', handle), { recursive: true })
  const answers = await Promise.all([
    sendFile(sourceOf(videoId), first, { range: 'part 1/2' }),
    sendFile(sourceOf(videoId), last, { range: 'part 2/2' }),
  ])
  for (const { status, text } of answers) assert.equal(status, 201, text)
  await assertSource(data, videoId, Buffer.concat([first, last]))
})
