import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, suite, type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { openDatabase } from '../../server/database.ts'
import type { GuardedFetch } from '../../server/lib/fetch/guarded-fetch.ts'
import { openDiskFiles } from '../../server/lib/files/disk.ts'
import type { Files } from '../../server/lib/files/files.ts'
import { createLog } from '../../server/lib/log.ts'
import { createMetrics } from '../../server/lib/metrics.ts'
import { openQueue } from '../../server/lib/queue.ts'
import type { Jobs } from '../../server/queues.ts'
import { queues } from '../../server/slices.ts'
import { fetchSource } from '../../server/uploads/fetch/fetch-source.ts'
import {
  assertSource,
  fileExists,
  kinora,
  MiB,
  type Service,
  sourcePath,
  waitFor,
} from '../support/harness.ts'
import { createVideo, videoStatus } from '../support/videos.ts'

// Fetches from malicious or faulty servers fail, and the status shows the reason.

const film = randomBytes(100_000)

async function origin(t: TestContext, respond: (response: ServerResponse) => void) {
  const state = { url: '', hits: 0 }
  const server = createServer((_, response) => {
    state.hits++
    response.on('error', () => {})
    respond(response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/film.mp4`
  return state
}

async function assertFailed(service: Service, videoId: string, reason: RegExp) {
  await waitFor(
    async () => (await videoStatus(service, videoId)).ingest.failure !== undefined,
    () => 'the fetch has not failed',
  )
  const { ingest, encoding } = await videoStatus(service, videoId)
  assert.match(ingest.failure, reason)
  assert.equal(encoding.playable, false)
  assert.deepEqual(encoding.qualities, [], 'nothing was encoded')
  assert.equal(await fileExists(sourcePath(service.data, videoId)), false)
}

const privateNetworks = { KINORA_ALLOW_PRIVATE_NETWORKS: 'true' }

suite('limits of fetches', { concurrency: 3 }, () => {
  let service: Service
  const ends: (() => unknown)[] = []
  before(async () => {
    service = await kinora({ after: (end) => ends.push(end) }, privateNetworks)
  })
  after(async () => {
    for (const end of ends) await end()
  })

  test('compressed content is rejected without another attempt and is not decompressed', async (t) => {
    const bomb = gzipSync(Buffer.alloc(64 * MiB))
    for (const coding of ['gzip', 'GZIP', 'deflate', 'br', 'gzip, gzip']) {
      const server = await origin(t, (response) => {
        response.writeHead(200, { 'content-encoding': coding, 'content-length': bomb.length }).end(bomb)
      })
      await assertFailed(service, await createVideo(service, { source: server.url }), /compressed content/)
      assert.equal(server.hits, 1)
    }
  })

  test('a file that is shorter than its Content-Length fails after five attempts, and a longer one is cut at its length', async (t) => {
    const [tooLong, tooShort] = await Promise.all([
      origin(t, (response) => {
        response.writeHead(200, { 'content-length': film.length + 1 })
        response.write(film, () => response.socket?.end())
      }),
      origin(t, (response) => {
        response.strictContentLength = false
        response.writeHead(200, { 'content-length': film.length - 1 }).end(film)
      }),
    ])
    const [failing, cut] = [
      await createVideo(service, { source: tooLong.url }),
      await createVideo(service, { source: tooShort.url }),
    ]
    await assertSource(service.data, cut, film.subarray(0, -1))
    // Five attempts, with delays of 2, 4, 8 and 16 s.
    await assertFailed(service, failing, /closed the connection too early/)
    assert.equal(tooLong.hits, 5)
  })

  test('an endless file fails after 100 GiB', async (t) => {
    // There is no worker. The test runs the job itself, with a network and a disk in memory.
    const service = await kinora(t, { ...privateNetworks, KINORA_ROLES: 'api' })
    const videoId = await createVideo(service, { source: 'http://127.0.0.1/endless.mp4' })
    const block = Buffer.alloc(64 * MiB)
    let isCanceled = false
    const fetch: GuardedFetch = {
      async request(url) {
        const body = (async function* () {
          while (!isCanceled) yield block
        })()
        const cancel = () => {
          isCanceled = true
        }
        return { status: 200, headers: {}, url: String(url), body, cancel }
      },
      async close() {},
    }
    const config = { databaseUrl: service.database, dataDir: service.data }
    const log = createLog('silent', false)
    const { db, pools, close } = await openDatabase(config, log)
    const queue = await openQueue<Jobs>({ connection: pools.servers, queues, supervise: false, onError() {} })
    let written = 0
    try {
      const disk = await openDiskFiles(join(service.data, 'files'))
      const files: Files = {
        ...disk,
        async writeChunk(_handle, body, { order }) {
          let size = 0
          for await (const chunk of body) size += chunk.length
          written += size
          return { location: `own-${order.toString(16).padStart(24, '0')}`, size }
        },
      }
      const now = () => new Date()
      const settings = { encodesDuringUpload: false }
      const deps = { config: settings, db, files, queue, log, metrics: createMetrics([]), fetch, now }
      // The rest is for copies.
      await fetchSource(deps as Parameters<typeof fetchSource>[0], { videoId })
    } finally {
      await queue.close()
      await close()
    }
    assert.ok(isCanceled)
    assert.equal(written, 1601 * 64 * MiB)
    await assertFailed(service, videoId, /does not end/)
  })
})
