import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'
import {
  assertProblem,
  assertSource,
  call,
  formBody,
  kinora,
  productionKey,
  type Service,
  sharedKinora,
  waitFor,
} from '../support/harness.ts'
import { film, makeVideo, mp4Of, onDisk } from '../support/stored-video.ts'

// Limits for clients that pipeline requests, send tiny chunks or are slow.

const authorization = `authorization: Basic ${btoa(`${productionKey}:`)}`

async function open({ url }: Service, t: TestContext): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

const memoryMiB = async ({ process: { pid } }: Service) =>
  Number(/VmRSS:\s+(\d+) kB/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

/** The peak memory during the work, minus the memory before it. */
async function memoryGrowthMiB(service: Service, work: () => Promise<unknown>): Promise<number> {
  const before = await memoryMiB(service)
  let peak = before
  const timer = setInterval(async () => {
    peak = Math.max(peak, await memoryMiB(service))
  }, 20)
  try {
    await work()
  } finally {
    clearInterval(timer)
  }
  return Math.max(peak, await memoryMiB(service)) - before
}

/** Other requests, which give the service time to process the pipelined ones. */
async function sendOtherRequests({ url }: Service): Promise<void> {
  for (let i = 0; i < 30; i++) {
    const response = await fetch(`${url}/openapi.json`)
    assert.equal(response.status, 200)
    await response.arrayBuffer()
  }
}

/** The bodies of successful responses. */
function bodiesIn(received: Buffer): Buffer[] {
  const bodies: Buffer[] = []
  for (let at = 0; at < received.length; ) {
    const start = received.indexOf('\r\n\r\n', at) + 4
    const head = received.toString('latin1', at, start)
    assert.match(head, /^HTTP\/1\.1 200 OK\r\n/)
    at = start + Number(/^content-length: (\d+)\r$/im.exec(head)?.[1])
    bodies.push(received.subarray(start, at))
  }
  return bodies
}

/** Of the form `1\r\nx\r\n`. */
function oneByteChunks(content: Buffer): Buffer {
  const chunks = Buffer.alloc(content.length * 6, '1\r\nx\r\n')
  for (const [i, byte] of content.entries()) chunks[i * 6 + 3] = byte
  return chunks
}

describe('pipelined requests', () => {
  const service = sharedKinora()
  const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nhost: x\r\n${headers}\r\n`

  test('a client that does not read keeps at most one file open', async (t) => {
    const videoId = await makeVideo(service, onDisk(service))
    const folder = `/proc/${service.process.pid}/fd`
    const openFiles = async () => {
      const targets = (await readdir(folder)).map((fd) => readlink(join(folder, fd)).catch(() => ''))
      return (await Promise.all(targets)).filter((target) => target.includes(videoId)).length
    }
    const connections = await Promise.all(Array.from({ length: 3 }, () => open(service, t)))
    for (const socket of connections) socket.pause().write(get(mp4Of(videoId)).repeat(300))
    await waitFor(async () => (await openFiles()) > 0)
    await sendOtherRequests(service)
    const count = await openFiles()
    assert.ok(count <= connections.length, `${count} open files`)
  })

  test('a client that does not read costs little memory and gets all responses once it reads', async (t) => {
    await sendOtherRequests(service)
    const socket = await open(service, t)
    const count = 800
    const growth = await memoryGrowthMiB(service, async () => {
      socket.pause().write(get('/openapi.json').repeat(count - 1) + get('/healthz', 'connection: close\r\n'))
      await sendOtherRequests(service)
    })
    t.diagnostic(`memory grew by ${growth.toFixed(1)} MiB`)
    assert.ok(growth < 60, `memory grew by ${growth} MiB`)
    const bodies = bodiesIn(Buffer.concat(await socket.toArray()))
    assert.equal(bodies.length, count)
    assert.ok(bodies.slice(0, -1).every((body) => body.equals(bodies[0]!)))
    assert.match(String(bodies.at(-1)), /alive/)
  })
})

describe('bodies in chunks of one byte', () => {
  const service = sharedKinora()

  async function send(t: TestContext, head: string, body: Buffer): Promise<string> {
    const socket = await open(service, t)
    socket.write(`${head}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n`)
    socket.write(Buffer.concat([body, Buffer.from('0\r\n\r\n')]))
    return (await buffer(socket)).toString()
  }

  test('routes without a key accept small bodies only, and the rest costs little memory', async (t) => {
    const body = oneByteChunks(Buffer.alloc(300_000, '1'))
    for (const path of ['/auth/api-key', '/auth/refresh', '/collector/vod', '/nothing', '/upload']) {
      let response = ''
      const growth = await memoryGrowthMiB(service, async () => {
        response = await send(t, `POST ${path} HTTP/1.1\r\nhost: x`, body)
      })
      assert.match(response, path === '/nothing' ? /^HTTP\/1\.1 404 / : /^HTTP\/1\.1 413 /, path)
      assert.ok(growth < 80, `${path}: memory grew by ${growth} MiB`)
    }
  })

  test('JSON, tus and multipart bodies arrive complete and cost little memory', async (t) => {
    const content = randomBytes(200_000)
    const json = JSON.stringify({
      title: 'one byte',
      description: 'x'.repeat(1_000),
      unknown: 'y'.repeat(200_000),
    })
    const { videoId } = (await call(`${service.url}/videos`, { method: 'POST', json: {} })).body
    const created = await call(`${service.url}/tus`, {
      method: 'POST',
      headers: { 'tus-resumable': '1.0.0', 'upload-length': String(content.length) },
    })
    const tus = new URL(created.headers.get('location') ?? '').pathname
    const form = formBody([{ name: 'file', filename: 'a.mp4', content }], 'b')
    const patch = [
      'tus-resumable: 1.0.0',
      'upload-offset: 0',
      'content-type: application/offset+octet-stream',
    ]
    const multipart = [authorization, 'content-type: multipart/form-data; boundary=b']
    const growth = await memoryGrowthMiB(service, async () => {
      const responses = await Promise.all([
        send(t, `POST /videos HTTP/1.1\r\nhost: x\r\n${authorization}`, oneByteChunks(Buffer.from(json))),
        send(t, [`PATCH ${tus} HTTP/1.1`, 'host: x', ...patch].join('\r\n'), oneByteChunks(content)),
        send(
          t,
          [`POST /videos/${videoId}/source HTTP/1.1`, 'host: x', ...multipart].join('\r\n'),
          oneByteChunks(form),
        ),
      ])
      assert.deepEqual(
        responses.map((response) => response.split(' ')[1]),
        ['201', '204', '201'],
        responses.join('\n') + service.output(),
      )
    })
    t.diagnostic(`memory grew by ${growth.toFixed(1)} MiB`)
    assert.ok(growth < 120, `memory grew by ${growth} MiB`)
    await assertSource(service.data, videoId, content)
    await assertSource(service.data, /\/tus\/(vi\w{22})-/.exec(tus)?.[1] ?? '', content)
  })
})

describe('the body timeout', () => {
  test('ends a request whose body does not arrive, but never a response', async (t) => {
    const service = await kinora(t, { KINORA_BODY_SECONDS: '1' })
    const videoId = await makeVideo(service, onDisk(service))
    const viewer = request(service.url + mp4Of(videoId), { agent: false }).end()
    const [response] = await once(viewer, 'response')
    // The request starts after the response of the viewer and times out before the viewer reads that response.
    const late = request(`${service.url}/auth/api-key`, {
      method: 'POST',
      headers: { 'content-length': 100 },
      agent: false,
    })
    late.on('error', () => {}).write('{')
    const [timedOut] = await once(late, 'response')
    const text = (await buffer(timedOut)).toString()
    assertProblem(
      { status: timedOut.statusCode, headers: new Headers(timedOut.headers), text, body: JSON.parse(text) },
      408,
      'request-timeout',
    )
    assert.ok((await buffer(response)).equals(film))
  })
})
