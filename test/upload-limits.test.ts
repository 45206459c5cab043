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
import { setTimeout as delay } from 'node:timers/promises'
import { openDatabase } from '../server/database.ts'
import { openDiskFiles } from '../server/lib/files/disk.ts'
import { createLog } from '../server/lib/log.ts'
import { openQueue } from '../server/lib/queue.ts'
import { type Jobs, queues } from '../server/queues.ts'
import { createUploadCoordinator } from '../server/uploads/coordinator.ts'
import { receiveChunk } from '../server/uploads/receive.ts'
import { acquireLock } from '../server/uploads/store.ts'
import { removeAbandonedUploads } from '../server/uploads/store-source.ts'
import { TusDataStore } from '../server/uploads/tus-datastore.ts'
import {
  type Answer,
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
  type Service,
  sendFile,
  temporaryFolder,
  waitFor,
} from './harness.ts'
import { withoutEncoding } from './programs.ts'

// Clients that fall silent, are slow or send ten thousand chunkCount; disks that are full; uploads that nobody ends.

const piece = 5 * MiB
const big = randomBytes(2 * piece + 4321)
const parts = [big.subarray(0, piece), big.subarray(piece, 2 * piece), big.subarray(2 * piece)] as const

async function newVideo({ url }: Service): Promise<string> {
  return (await call(`${url}/videos`, { method: 'POST', json: { title: 'Film' } })).body.videoId
}

/** The address of an empty tus upload. */
async function newTus({ url }: Service, length: number) {
  const headers = { 'tus-resumable': '1.0.0', 'upload-length': String(length) }
  return (await call(`${url}/tus`, { method: 'POST', headers })).headers.get('location')
}

const sourceOf = ({ url }: Service, videoId: string) => `${url}/videos/${videoId}/source`

async function accepted(service: Service, videoId: string, i: 0 | 1 | 2): Promise<void> {
  const answer = await sendFile(sourceOf(service, videoId), parts[i], { range: `part ${i + 1}/3` })
  assert.equal(answer.status, 201, answer.text)
}

const claims = async ({ database }: Service, videoId: string) =>
  (await query(database, 'select from source_pieces where video_id = $1 and place is null', [videoId])).length

/** Folders of uploads that are not whole yet. */
const pending = ({ data }: Service) => readdir(join(data, 'files/.uploads')).catch(() => [] as string[])

/** Passes bytes on to the service, and leaves the way to it open when the client is gone. */
async function forgetfulProxy(t: TestContext, service: Service) {
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

suite('what takes long', { concurrency: 6 }, () => {
  test('a piece whose client vanished without a word is taken when it is sent again at once', async (t) => {
    const service = await kinora(t, withoutEncoding())
    const proxy = await forgetfulProxy(t, service)
    const videoId = await newVideo(service)
    await accepted(service, videoId, 1)
    const lost = openUpload(`${proxy.url}/videos/${videoId}/source`, parts[0], { range: 'part 1/3' })
    await lost.write(2 * MiB)
    await waitFor(async () => (await claims(service, videoId)) === 1)
    await lost.abort()
    // The browser library gives up at any 4xx.
    await accepted(service, videoId, 0)
    await accepted(service, videoId, 2)
    await assertSource(service.data, videoId, big)

    const [far] = proxy.far
    assert.ok(far && !far.destroyed)
    let said = ''
    far.on('data', (chunk) => {
      said += chunk
    })
    await waitFor(() => far.closed)
    assert.match(said, /^HTTP\/1\.1 4/)
    await waitFor(async () => (await pending(service)).length === 0)
    await assertSource(service.data, videoId, big)
    assert.doesNotMatch(service.output(), /request failed|"level":"(error|fatal)"/)
  })

  test('a client that pauses keeps its piece, unless another has sent it meanwhile', async (t) => {
    const service = await kinora(t, withoutEncoding())
    const videoId = await newVideo(service)
    const url = sourceOf(service, videoId)
    const other = Buffer.from(parts[0]).reverse()
    const overtaken = openUpload(url, other, { range: 'part 1/3' })
    const alone = openUpload(url, parts[1], { range: 'part 2/3' })
    await Promise.all([overtaken.write(2 * MiB), alone.write(2 * MiB)])
    await waitFor(async () => (await claims(service, videoId)) === 2)
    await accepted(service, videoId, 0)
    assertProblem(await overtaken.end(), 409, 'upload-in-progress')
    const answer = await alone.end()
    assert.equal(answer.status, 201, answer.text)
    await accepted(service, videoId, 2)
    await assertSource(service.data, videoId, big)
    // The file is moved to its place before the rest goes.
    await waitFor(async () => (await pending(service)).length === 0)
  })

  test('of a hundred requests for a piece that is being written, few wait and the others are refused at once', async (t) => {
    const service = await kinora(t, withoutEncoding())
    const videoId = await newVideo(service)
    const content = randomBytes(20_000)
    const address = (await newTus(service, 10)) ?? ''
    const range = 'part 1/1'
    const writer = openUpload(sourceOf(service, videoId), content, { range })
    await writer.write(1000)
    await waitFor(async () => (await claims(service, videoId)) === 1)
    const answers: Answer[] = []
    const sent = Array.from({ length: 100 }, async () => {
      const answer = await sendFile(sourceOf(service, videoId), content, { range })
      answers.push(answer)
      return answer
    })
    // The writer goes on meanwhile: a silent one would lose its piece to one of those who wait.
    await waitFor(async () => {
      await writer.write(1)
      return answers.length === 96
    })
    for (const answer of answers) {
      assertProblem(answer, 409, 'upload-in-progress')
      assert.equal(answer.headers.get('retry-after'), '10')
    }
    assert.equal((await writer.end()).status, 201)
    // They have sent the same bytes.
    const statuses = (await Promise.all(sent)).map(({ status }) => status)
    assert.equal(statuses.filter((status) => status === 201).length, 4)
    await assertSource(service.data, videoId, content)

    const patch = () =>
      fetch(address, {
        method: 'PATCH',
        headers: {
          'tus-resumable': '1.0.0',
          'upload-offset': '0',
          'content-type': 'application/offset+octet-stream',
        },
        body: '0123456789',
      })
    const patched = await Promise.all(Array.from({ length: 50 }, async () => (await patch()).status))
    assert.equal(patched.filter((status) => status === 204).length, 1)
    assert.equal(patched.filter((status) => status === 409).length, 49)
    assert.doesNotMatch(service.output(), /request failed|"level":"(error|fatal)"/)
  })

  test('a request reads no more rows beside ten thousand pieces than beside ten', async (t) => {
    const service = await kinora(t, withoutEncoding())
    const config = { databaseUrl: service.database, dataDir: service.data }
    const log = createLog('silent', false)
    const { db: plain, connection, close } = await openDatabase(config, log)
    let rows = 0
    const db = plain.withPlugin({
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        rows += result.rows.length
        return result
      },
    })
    const queue = await openQueue<Jobs>({ connection, queues, supervise: false, onError() {} })
    const files = await openDiskFiles(join(service.data, 'files'))
    const deps = { db, files, queue, log, now: () => new Date(), coordinator: createUploadCoordinator() }
    const sender = { created_by: null, token: null, filename: null, address: null }
    const counted = async (work: () => Promise<unknown>) => {
      rows = 0
      await work()
      return rows
    }
    const addPieces = async (videoId: string, first: number, count: number, size: number) => {
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

    async function costs(pieces: number) {
      const [byParts, byBytes] = [await newVideo(service), await newVideo(service)]
      const sendPart = (part: number) =>
        receiveChunk(
          deps,
          byParts,
          { form: 'parts', part, total: undefined },
          sender,
          Readable.from([parts[0]]),
        )
      await sendPart(pieces + 1)
      await addPieces(byParts, 1, pieces, piece)
      const sendRange = (from: number) => {
        const range = { form: 'bytes', from, to: from + piece - 1, total: undefined } as const
        return receiveChunk(deps, byBytes, range, sender, Readable.from([parts[0]]))
      }
      await sendRange(pieces * piece)
      await addPieces(byBytes, 0, pieces, piece)
      const address = (await newTus(service, 100_000)) ?? ''
      const tusId = /\/tus\/(vi\w{22})-/.exec(address)?.[1] ?? ''
      await addPieces(tusId, 0, pieces, 1)
      const lockOwner = 'test'
      const lease = { now: new Date(), until: new Date(Date.now() + 3_600_000) }
      assert.ok(await acquireLock(plain, tusId, lockOwner, lease))
      const tus = new TusDataStore(deps, { lockOwner, checksum: undefined })
      assert.equal((await tus.getUpload(tusId)).offset, pieces)
      return {
        part: await counted(() => sendPart(pieces + 2)),
        partAgain: await counted(() => sendPart(pieces + 2)),
        range: await counted(() => sendRange((pieces + 1) * piece)),
        tus: await counted(() => tus.write(Readable.from([Buffer.from('x')]), tusId, pieces)),
        offset: await counted(() => tus.getUpload(tusId)),
      }
    }

    try {
      const [few, many] = [await costs(10), await costs(9_990)]
      t.diagnostic(JSON.stringify(few))
      assert.deepEqual(many, few)
    } finally {
      await queue.close()
      await close()
    }
  })

  test('a client that sends too slowly gets a 408, and nothing of its upload stays', async (t) => {
    const service = await kinora(t, withoutEncoding())
    const videoId = await newVideo(service)
    const { token } = (await call(`${service.url}/upload-tokens`, { method: 'POST', json: {} })).body
    const form = formBody([{ name: 'file', filename: 'a.mp4', content: big }], 'b')
    const formType = 'content-type: multipart/form-data; boundary=b'
    const tusHeaders = [
      'tus-resumable: 1.0.0',
      `upload-length: ${big.length}`,
      'content-type: application/offset+octet-stream',
    ]
    const ways = [
      { path: `/videos/${videoId}/source`, headers: [formType], body: form },
      { path: `/upload?token=${token}`, headers: [formType], body: form },
      { path: '/tus', headers: tusHeaders, body: big },
    ].map(async ({ path, headers, body }) => {
      const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
      t.after(() => socket.destroy())
      const closed = new Promise((done) => socket.once('close', done))
      let answer = ''
      socket.on('error', () => {})
      socket.on('data', (chunk) => {
        answer += chunk
      })
      const head = [
        `POST ${path} HTTP/1.1`,
        'host: x',
        `authorization: Basic ${btoa(`${productionKey}:`)}`,
        ...headers,
        `content-length: ${body.length}`,
      ]
      const begun = 64 * 1024
      socket.write(`${head.join('\r\n')}\r\n\r\n`)
      socket.write(body.subarray(0, begun))
      for (let sent = begun; !socket.closed && sent < begun + 60; sent++) {
        socket.write(body.subarray(sent, sent + 1))
        await Promise.race([delay(1_000), closed])
      }
      assert.ok(socket.closed, 'the connection is still open after a minute')
      assert.match(answer, /^HTTP\/1\.1 408 .*"type":"[^"]*\/request-timeout"/s)
    })
    await Promise.all(ways)
    assert.equal(await claims(service, videoId), 0)
    assert.equal((await call(`${service.url}/videos/${videoId}/status`)).body.ingest, null)
    assert.equal((await query(service.database, 'select from videos')).length, 1)
    const listFiles = async () => {
      const files = await readdir(join(service.data, 'files'), { recursive: true, withFileTypes: true })
      // Apart from the file by which the sweep knows the store.
      return files
        .filter((entry) => entry.isFile() && entry.name !== 'kinora-store-id')
        .map(({ name }) => name)
    }
    // A job removes the files of the video that the tus request has created.
    await waitFor(async () => (await listFiles()).length === 0)
    assert.deepEqual(await listFiles(), [])
    const answer = await sendFile(sourceOf(service, videoId), big)
    assert.equal(answer.status, 201, answer.text)
    await assertSource(service.data, videoId, big)
  })

  test('hundreds of tiny chunks become the file, and memory does not grow with them', async (t) => {
    // Little room between what is used and what is freed, so that what is seen from outside is what is used.
    const service = await kinora(t, { NODE_OPTIONS: '--max-old-space-size=160 --max-semi-space-size=2' })
    const chunkCount = 450
    const content = randomBytes(chunkCount * 100)
    const created = await call(`${service.url}/tus`, {
      method: 'POST',
      headers: { 'tus-resumable': '1.0.0', 'upload-length': String(content.length) },
    })
    assert.equal(created.status, 201, created.text)
    const address = created.headers.get('location') ?? ''
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
      const sent = request(address, { method: 'PATCH', agent, headers }).end(body)
      const [response] = await once(sent, 'response')
      response.resume()
      assert.equal(response.statusCode, 204)
      await once(response, 'end')
    }
    const memoryMiB = async () => {
      const status = await readFile(`/proc/${service.process.pid}/status`, 'utf8')
      return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024
    }
    // What is compiled and cached on the way comes with the first ones.
    const warm = 200
    for (let i = 0; i < warm; i++) await send(i)
    const before = await memoryMiB()
    for (let i = warm; i < chunkCount; i++) await send(i)
    const grown = (await memoryMiB()) - before
    t.diagnostic(`grown by ${grown.toFixed(1)} MiB`)
    assert.ok(grown < 32, `grown by ${grown} MiB`)
    await assertSource(service.data, /\/tus\/(vi\w{22})-/.exec(address)?.[1] ?? '', content)
  })

  test('an upload that nothing was added to for seven days is cleared away, and its video takes another', async (t) => {
    const service = await kinora(t, withoutEncoding())
    const [old, young, whole] = [await newVideo(service), await newVideo(service), await newVideo(service)]
    for (const videoId of [old, young]) await accepted(service, videoId, 0)
    assert.equal((await sendFile(sourceOf(service, whole), big)).status, 201)
    await assertSource(service.data, whole, big)
    const age = (videoId: string, by: string) =>
      query(service.database, 'update sources set updated_at = now() - $2::interval where video_id = $1', [
        videoId,
        by,
      ])
    await Promise.all([age(old, '7 days 1 minute'), age(young, '6 days 23 hours'), age(whole, '30 days')])
    const handles = await query(service.database, 'select video_id, handle from sources')
    const folderOf = (videoId: string) =>
      join(service.data, 'files/.uploads', handles.find((row) => row.video_id === videoId)!.handle)
    const config = { databaseUrl: service.database, dataDir: service.data }
    const { db, connection, close } = await openDatabase(config, createLog('silent', false))
    const queue = await openQueue<Jobs>({ connection, queues, supervise: false, onError() {} })
    try {
      const files = await openDiskFiles(join(service.data, 'files'))
      await removeAbandonedUploads({ db, files, queue, now: () => new Date() })
    } finally {
      await queue.close()
      await close()
    }

    assert.equal(await isThere(folderOf(old)), false)
    assert.equal(await isThere(folderOf(young)), true)
    assert.deepEqual(await pending(service), [folderOf(young).split('/').pop()])
    for (const table of ['sources', 'source_pieces'])
      assert.deepEqual(await query(service.database, `select from ${table} where video_id = $1`, [old]), [])
    assert.equal((await call(`${service.url}/videos/${old}/status`)).body.ingest, null)
    await assertSource(service.data, whole, big)

    const other = randomBytes(100_000)
    const answer = await sendFile(sourceOf(service, old), other)
    assert.equal(answer.status, 201, answer.text)
    await assertSource(service.data, old, other)
    for (const i of [1, 2] as const) await accepted(service, young, i)
    await assertSource(service.data, young, big)
  })

  test('a full disk is told as such, and once there is space again the same upload goes on', async (t) => {
    if (process.getuid?.() !== 0) return t.skip('only root can mount a small disk')
    const folder = await temporaryFolder(t)
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'kinora-test', folder], { stdio: 'pipe' })
    } catch (error) {
      return t.skip(`no small disk can be mounted here: ${(error as Error).message}`)
    }
    try {
      const service = await kinora(t, { KINORA_DATA_DIR: folder })
      const [inParts, whole] = [await newVideo(service), await newVideo(service)]
      await accepted(service, inParts, 0)
      const filler = join(folder, 'filler')
      await writeFile(filler, Buffer.alloc(17 * MiB))
      const { token } = (await call(`${service.url}/upload-tokens`, { method: 'POST', json: {} })).body
      const refusals = [
        await sendFile(sourceOf(service, inParts), parts[1], { range: 'part 2/3' }),
        await sendFile(sourceOf(service, whole), big),
        await sendFile(`${service.url}/upload?token=${token}`, big, { key: '' }),
      ]
      for (const refusal of refusals) {
        assertProblem(refusal, 503, 'service-unavailable')
        assert.equal(refusal.headers.get('retry-after'), '2')
      }
      const { body } = await call(`${service.url}/videos/${inParts}/status`)
      assert.deepEqual(body.ingest.receivedParts, { parts: [1], total: 3 })
      assert.equal((await query(service.database, 'select from videos')).length, 2)

      await rm(filler)
      for (const i of [1, 2] as const) await accepted(service, inParts, i)
      await assertSource(folder, inParts, big)
      const answer = await sendFile(sourceOf(service, whole), big)
      assert.equal(answer.status, 201, answer.text)
      await assertSource(folder, whole, big)
      await service.stop()
    } finally {
      execFileSync('umount', ['-l', folder])
    }
  })
})
