import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { suite, type TestContext, test } from 'node:test'
import { receiveChunk } from '../../server/uploads/chunks/receive.ts'
import { createUploadCoordinator } from '../../server/uploads/source/coordinator.ts'
import { removeAbandonedUploads } from '../../server/uploads/source/remove-abandoned.ts'
import { TusDataStore } from '../../server/uploads/tus/datastore.ts'
import { acquireLock } from '../../server/uploads/tus/lock-store.ts'
import {
  type ApiResponse,
  assertNoErrorsLogged,
  assertProblem,
  assertSource,
  call,
  errorLine,
  fileExists,
  formBody,
  kinora,
  listFiles,
  MiB,
  openUpload,
  productionKey,
  query,
  type Service,
  sendFile,
  sharedKinora,
  temporaryFolder,
  waitFor,
} from '../support/harness.ts'
import { openJobContext } from '../support/job-context.ts'
import { withoutEncoding } from '../support/programs.ts'
import { createVideo, sourceUrl } from '../support/videos.ts'

// Clients that stop, are slow or send ten thousand chunks, full disks, and abandoned uploads.

const chunkBytes = 5 * MiB
const big = randomBytes(2 * chunkBytes + 4321)
const parts = [
  big.subarray(0, chunkBytes),
  big.subarray(chunkBytes, 2 * chunkBytes),
  big.subarray(2 * chunkBytes),
] as const

const service = sharedKinora(withoutEncoding())

/** Creates an empty tus upload and returns its URL. */
async function newTusUpload({ url }: Service, length: number) {
  const headers = { 'tus-resumable': '1.0.0', 'upload-length': String(length) }
  return (await call(`${url}/tus`, { method: 'POST', headers })).headers.get('location')
}

async function sendPart(service: Service, videoId: string, i: 0 | 1 | 2): Promise<void> {
  const response = await sendFile(sourceUrl(service, videoId), parts[i], { range: `part ${i + 1}/3` })
  assert.equal(response.status, 201, response.text)
}

/** Repeats a request while the service is too busy for it: a busy machine may give it no database connection in time. */
async function untilAvailable<T extends { status: number }>(send: () => Promise<T>): Promise<T> {
  for (;;) {
    const response = await send()
    if (response.status !== 503) return response
  }
}

const countLeases = async ({ database }: Service, videoId: string) =>
  (await query(database, 'select from source_pieces where video_id = $1 and place is null', [videoId])).length

/** The folders of unfinished uploads. */
const listUnfinished = ({ data }: Service) =>
  readdir(join(data, 'files/.uploads')).catch(() => [] as string[])

/** A proxy that keeps its connection to the service open when the client is gone. */
async function lingeringProxy(t: TestContext, service: Service) {
  const far: Socket[] = []
  const server = createServer((near) => {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
    far.push(socket)
    near.on('data', (chunk) => socket.write(chunk)).on('error', () => {})
    socket.on('error', () => {})
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  t.after(() => {
    for (const socket of far) socket.destroy()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, far }
}

test('a chunk is accepted when it is sent again right after its client vanished', async (t) => {
  const proxy = await lingeringProxy(t, service)
  const videoId = await createVideo(service)
  await sendPart(service, videoId, 1)
  const lost = openUpload(`${proxy.url}/videos/${videoId}/source`, parts[0], { range: 'part 1/3' })
  await lost.write(2 * MiB)
  await waitFor(async () => (await countLeases(service, videoId)) === 1)
  await lost.abort()
  // A 4xx would not do, because the browser library stops at any 4xx.
  await sendPart(service, videoId, 0)
  await sendPart(service, videoId, 2)
  await assertSource(service.data, videoId, big)

  const [far] = proxy.far
  assert.ok(far && !far.destroyed)
  let received = ''
  far.on('data', (chunk) => {
    received += chunk
  })
  await waitFor(() => far.closed)
  assert.match(received, /^HTTP\/1\.1 4/)
  await waitFor(async () => (await listUnfinished(service)).length === 0)
  await assertSource(service.data, videoId, big)
  assertNoErrorsLogged(service)
})

test('a client that pauses can complete its chunk, unless another request sent the chunk in the meantime', async () => {
  const videoId = await createVideo(service)
  const url = sourceUrl(service, videoId)
  const other = Buffer.from(parts[0]).reverse()
  const overtaken = openUpload(url, other, { range: 'part 1/3' })
  const alone = openUpload(url, parts[1], { range: 'part 2/3' })
  await Promise.all([overtaken.write(2 * MiB), alone.write(2 * MiB)])
  await waitFor(async () => (await countLeases(service, videoId)) === 2)
  await sendPart(service, videoId, 0)
  assertProblem(await overtaken.end(), 409, 'upload-in-progress')
  const response = await alone.end()
  assert.equal(response.status, 201, response.text)
  await sendPart(service, videoId, 2)
  await assertSource(service.data, videoId, big)
  // The source is stored before the folder of the upload is removed.
  await waitFor(async () => (await listUnfinished(service)).length === 0)
})

test('of a hundred requests for a chunk that is being written, a few wait and the others are rejected immediately', async () => {
  const videoId = await createVideo(service)
  const content = randomBytes(50_000)
  const uploadUrl = (await newTusUpload(service, 10)) ?? ''
  const range = 'part 1/1'
  const writer = openUpload(sourceUrl(service, videoId), content, { range })
  await writer.write(1000)
  await waitFor(async () => (await countLeases(service, videoId)) === 1)
  const responses: ApiResponse[] = []
  const sent = Array.from({ length: 100 }, async () => {
    const response = await untilAvailable(() => sendFile(sourceUrl(service, videoId), content, { range }))
    responses.push(response)
    return response
  })
  // The writer keeps sending. Otherwise it would lose its lease to a waiting request, or be too slow.
  await waitFor(async () => {
    await writer.write(64)
    return responses.length === 96
  })
  for (const response of responses) {
    assertProblem(response, 409, 'upload-in-progress')
    assert.equal(response.headers.get('retry-after'), '10')
  }
  assert.equal((await writer.end()).status, 201)
  // The waiting requests sent the same bytes.
  const statuses = (await Promise.all(sent)).map(({ status }) => status)
  assert.equal(statuses.filter((status) => status === 201).length, 4)
  await assertSource(service.data, videoId, content)

  const patch = () =>
    fetch(uploadUrl, {
      method: 'PATCH',
      headers: {
        'tus-resumable': '1.0.0',
        'upload-offset': '0',
        'content-type': 'application/offset+octet-stream',
      },
      body: '0123456789',
    })
  const statusOfPatch = async () => (await untilAvailable(patch)).status
  const patched = await Promise.all(Array.from({ length: 50 }, statusOfPatch))
  assert.equal(patched.filter((status) => status === 204).length, 1)
  assert.equal(patched.filter((status) => status === 409).length, 49)
  const errors = service
    .output()
    .split('\n')
    .filter((line) => errorLine.test(line))
  assert.deepEqual(
    errors.filter((line) => !line.includes('timeout exceeded when trying to connect')),
    [],
  )
  await waitFor(async () => (await listUnfinished(service)).length === 0)
})

test('an upload without new chunks for seven days is removed, and its video accepts another upload', async (t) => {
  const [abandoned, active, complete] = [
    await createVideo(service),
    await createVideo(service),
    await createVideo(service),
  ]
  for (const videoId of [abandoned, active]) await sendPart(service, videoId, 0)
  assert.equal((await sendFile(sourceUrl(service, complete), big)).status, 201)
  await assertSource(service.data, complete, big)
  // The source is stored before the folder of the upload is removed.
  await waitFor(async () => (await listUnfinished(service)).length === 2)
  const backdate = (videoId: string, by: string) =>
    query(service.database, 'update sources set updated_at = now() - $2::interval where video_id = $1', [
      videoId,
      by,
    ])
  await Promise.all([
    backdate(abandoned, '7 days 1 minute'),
    backdate(active, '6 days 23 hours'),
    backdate(complete, '30 days'),
  ])
  const handles = await query(service.database, 'select video_id, handle from sources')
  const folderOf = (videoId: string) =>
    join(service.data, 'files/.uploads', handles.find((row) => row.video_id === videoId)!.handle)
  await removeAbandonedUploads(await openJobContext(t, service))

  assert.equal(await fileExists(folderOf(abandoned)), false)
  assert.equal(await fileExists(folderOf(active)), true)
  assert.deepEqual(await listUnfinished(service), [folderOf(active).split('/').pop()])
  for (const table of ['sources', 'source_pieces'])
    assert.deepEqual(
      await query(service.database, `select from ${table} where video_id = $1`, [abandoned]),
      [],
    )
  assert.equal((await call(`${service.url}/videos/${abandoned}/status`)).body.ingest, null)
  await assertSource(service.data, complete, big)

  const other = randomBytes(100_000)
  const response = await sendFile(sourceUrl(service, abandoned), other)
  assert.equal(response.status, 201, response.text)
  await assertSource(service.data, abandoned, other)
  for (const i of [1, 2] as const) await sendPart(service, active, i)
  await assertSource(service.data, active, big)
})

test('a request reads the same number of rows with ten thousand chunks as with ten', async (t) => {
  const context = await openJobContext(t, service)
  const plain = context.db
  let rows = 0
  const db = plain.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      rows += result.rows.length
      return result
    },
  })
  // What has arrived of a chunk is reported by a timer, so that the rows of reports cannot be counted exactly.
  const config = { ...context.config, encodesDuringUpload: false }
  const deps = { ...context, config, db, coordinator: createUploadCoordinator() }
  const origin = { created_by: null, token: null, filename: null, address: null }
  const counted = async (work: () => Promise<unknown>) => {
    rows = 0
    await work()
    return rows
  }
  const addChunks = async (videoId: string, first: number, count: number, size: number) => {
    await query(
      service.database,
      `insert into source_pieces (video_id, position, size, place)
       select $1, $2::bigint + i * $4::bigint, $3, 'own-' || lpad(to_hex(i), 24, '0')
       from generate_series(0, $5::int - 1) i`,
      [videoId, first, size, first === 1 ? 1 : size, count],
    )
    await query(
      service.database,
      `update sources set received_pieces = received_pieces + $2::int,
                          received_bytes = received_bytes + $2::bigint * $3::bigint
       where video_id = $1`,
      [videoId, count, size],
    )
  }

  async function countRows(chunkCount: number) {
    const [byParts, byBytes] = [await createVideo(service), await createVideo(service)]
    const sendPartDirectly = (part: number) =>
      receiveChunk(
        deps,
        byParts,
        { form: 'parts', part, total: undefined },
        origin,
        Readable.from([parts[0]]),
      )
    await sendPartDirectly(chunkCount + 1)
    await addChunks(byParts, 1, chunkCount, chunkBytes)
    const sendRange = (from: number) => {
      const range = { form: 'bytes', from, to: from + chunkBytes - 1, total: undefined } as const
      return receiveChunk(deps, byBytes, range, origin, Readable.from([parts[0]]))
    }
    await sendRange(chunkCount * chunkBytes)
    await addChunks(byBytes, 0, chunkCount, chunkBytes)
    const uploadUrl = (await newTusUpload(service, 100_000)) ?? ''
    const [, uploadId = '', tusVideo = ''] = /\/tus\/((vi\w{22})-\w+)/.exec(uploadUrl) ?? []
    await addChunks(tusVideo, 0, chunkCount, 1)
    const lockOwner = 'test'
    const lease = { now: new Date(), until: new Date(Date.now() + 3_600_000) }
    assert.ok(await acquireLock(plain, tusVideo, lockOwner, lease))
    const tus = new TusDataStore(deps, { lockOwner, checksum: undefined })
    assert.equal((await tus.getUpload(uploadId)).offset, chunkCount)
    return {
      part: await counted(() => sendPartDirectly(chunkCount + 2)),
      partAgain: await counted(() => sendPartDirectly(chunkCount + 2)),
      range: await counted(() => sendRange((chunkCount + 1) * chunkBytes)),
      tus: await counted(() => tus.write(Readable.from([Buffer.from('x')]), uploadId, chunkCount)),
      offset: await counted(() => tus.getUpload(uploadId)),
    }
  }

  const [few, many] = [await countRows(10), await countRows(9_990)]
  t.diagnostic(JSON.stringify(few))
  assert.deepEqual(many, few)
  config.encodesDuringUpload = true
  const reported = await countRows(9_990)
  t.diagnostic(JSON.stringify(reported))
  for (const [name, count] of Object.entries(reported))
    assert.ok(count <= few[name as keyof typeof few] + 20, `${name}: ${count} rows`)
})

// At once, because they wait most of the time. Each has its own service: before each test, the videos of the shared one are
// deleted.
suite('long uploads', { concurrency: 3 }, () => {
  test('a client that sends too slowly receives 408, and its upload leaves nothing behind', async (t) => {
    const service = await kinora(t, withoutEncoding())
    const videoId = await createVideo(service)
    const { token } = (await call(`${service.url}/upload-tokens`, { method: 'POST', json: {} })).body
    const form = formBody([{ name: 'file', filename: 'a.mp4', content: big }], 'b')
    const formType = 'content-type: multipart/form-data; boundary=b'
    const tusHeaders = [
      'tus-resumable: 1.0.0',
      `upload-length: ${big.length}`,
      'content-type: application/offset+octet-stream',
    ]
    const requests = [
      { path: `/videos/${videoId}/source`, headers: [formType], body: form },
      { path: `/upload?token=${token}`, headers: [formType], body: form },
      { path: '/tus', headers: tusHeaders, body: big },
    ].map(async ({ path, headers, body }) => {
      const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
      t.after(() => socket.destroy())
      let response = ''
      socket.on('error', () => {})
      socket.on('data', (chunk) => {
        response += chunk
      })
      const head = [
        `POST ${path} HTTP/1.1`,
        'host: x',
        `authorization: Basic ${btoa(`${productionKey}:`)}`,
        ...headers,
        `content-length: ${body.length}`,
      ]
      let sent = 64 * 1024
      socket.write(`${head.join('\r\n')}\r\n\r\n`)
      socket.write(body.subarray(0, sent))
      const trickle = setInterval(() => socket.write(body.subarray(sent, ++sent)), 1_000)
      await waitFor(
        () => socket.closed,
        () => `the connection is still open after ${sent} bytes`,
      ).finally(() => clearInterval(trickle))
      assert.match(response, /^HTTP\/1\.1 408 .*"type":"[^"]*\/request-timeout"/s)
    })
    await Promise.all(requests)
    assert.equal(await countLeases(service, videoId), 0)
    assert.equal((await call(`${service.url}/videos/${videoId}/status`)).body.ingest, null)
    assert.equal((await query(service.database, 'select from videos')).length, 1)
    // A job removes the files of the video that the tus request created.
    await waitFor(async () => (await listFiles(service)).length === 0)
    const response = await sendFile(sourceUrl(service, videoId), big)
    assert.equal(response.status, 201, response.text)
    await assertSource(service.data, videoId, big)
  })

  test('hundreds of tiny chunks become the file, and memory does not grow with their number', async (t) => {
    // With a small heap, little garbage accumulates, so the resident memory shows what is in use.
    const service = await kinora(t, { NODE_OPTIONS: '--max-old-space-size=160 --max-semi-space-size=2' })
    const chunkCount = 450
    const content = randomBytes(chunkCount * 100)
    const created = await call(`${service.url}/tus`, {
      method: 'POST',
      headers: { 'tus-resumable': '1.0.0', 'upload-length': String(content.length) },
    })
    assert.equal(created.status, 201, created.text)
    const uploadUrl = created.headers.get('location') ?? ''
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    t.after(() => agent.destroy())
    const send = async (i: number) => {
      const body = content.subarray(i * 100, (i + 1) * 100)
      const headers = {
        'tus-resumable': '1.0.0',
        'upload-offset': i * 100,
        'content-type': 'application/offset+octet-stream',
        'content-length': body.length,
      }
      const sent = request(uploadUrl, { method: 'PATCH', agent, headers }).end(body)
      const [response] = await once(sent, 'response')
      response.resume()
      assert.equal(response.statusCode, 204)
      await once(response, 'end')
    }
    const memoryMiB = async () => {
      const status = await readFile(`/proc/${service.process.pid}/status`, 'utf8')
      return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024
    }
    // The first requests fill caches and compile code.
    const warmUpCount = 200
    for (let i = 0; i < warmUpCount; i++) await send(i)
    const before = await memoryMiB()
    for (let i = warmUpCount; i < chunkCount; i++) await send(i)
    const grown = (await memoryMiB()) - before
    t.diagnostic(`grown by ${grown.toFixed(1)} MiB`)
    assert.ok(grown < 32, `grown by ${grown} MiB`)
    await assertSource(service.data, /\/tus\/(vi\w{22})-/.exec(uploadUrl)?.[1] ?? '', content)
  })

  test('uploads to a full disk return 507 and can be continued once there is space again', async (t) => {
    if (process.getuid?.() !== 0) return t.skip('only root can mount a small disk')
    const folder = await temporaryFolder(t)
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'kinora-test', folder], { stdio: 'pipe' })
    } catch (error) {
      return t.skip(`cannot mount a small disk: ${(error as Error).message}`)
    }
    try {
      const service = await kinora(t, { KINORA_DATA_DIR: folder })
      const [inParts, inOneRequest] = [await createVideo(service), await createVideo(service)]
      await sendPart(service, inParts, 0)
      const filler = join(folder, 'filler')
      await writeFile(filler, Buffer.alloc(17 * MiB))
      const { token } = (await call(`${service.url}/upload-tokens`, { method: 'POST', json: {} })).body
      const rejections = [
        await sendFile(sourceUrl(service, inParts), parts[1], { range: 'part 2/3' }),
        await sendFile(sourceUrl(service, inOneRequest), big),
        await sendFile(`${service.url}/upload?token=${token}`, big, { key: '' }),
      ]
      for (const rejection of rejections) {
        assertProblem(rejection, 507, 'insufficient-storage')
        assert.equal(rejection.headers.get('retry-after'), '60')
      }
      const { body } = await call(`${service.url}/videos/${inParts}/status`)
      assert.deepEqual(body.ingest.receivedParts, { parts: [1], total: 3 })
      assert.equal((await query(service.database, 'select from videos')).length, 2)

      await rm(filler)
      for (const i of [1, 2] as const) await sendPart(service, inParts, i)
      await assertSource(folder, inParts, big)
      const response = await sendFile(sourceUrl(service, inOneRequest), big)
      assert.equal(response.status, 201, response.text)
      await assertSource(folder, inOneRequest, big)
      await service.stop()
    } finally {
      execFileSync('umount', ['-l', folder])
    }
  })
})
