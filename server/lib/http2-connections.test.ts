import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { IncomingMessage, RequestListener } from 'node:http'
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import type { ConnectionLimits } from './connection-limits.ts'
import { createServer } from './connections.ts'
import { until } from './fetch/test-server.ts'
import type { Http2Request } from './http2-messages.ts'
import { watchSlowClient } from './slow-client.ts'

const { NGHTTP2_CANCEL: cancel, NGHTTP2_INTERNAL_ERROR: internalError, NGHTTP2_NO_ERROR: noError } = constants
const quickly = { checkMs: 20 }
/** Never reached in a test. */
const never = { idleChecks: Number.POSITIVE_INFINITY }

let tls: { cert: Buffer; key: Buffer } | undefined
function certificate() {
  if (tls) return tls
  const folder = mkdtempSync(join(tmpdir(), 'kinora-tls-'))
  const [key, cert] = [join(folder, 'key'), join(folder, 'cert')]
  const options = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost']
  execFileSync('openssl', ['req', ...options, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  tls = { cert: readFileSync(cert), key: readFileSync(key) }
  rmSync(folder, { recursive: true })
  return tls
}

async function start(t: TestContext, handler: RequestListener, limits?: Partial<ConnectionLimits>) {
  const server = createServer(handler, certificate(), limits)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const open = (): ClientHttp2Session => {
    const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false })
    t.after(() => session.destroy())
    session.on('error', () => {})
    return session
  }
  const openRaw = async () => {
    const target = { port, host: '127.0.0.1', rejectUnauthorized: false, allowHalfOpen: true }
    const socket = connectTls({ ...target, ALPNProtocols: ['h2'] })
    t.after(() => socket.destroy())
    socket.on('error', () => {})
    await once(socket, 'secureConnect')
    socket.write(Buffer.concat([preface, frame(types.settings, 0, 0)]))
    return socket
  }
  const allClosed = async () => {
    let open = -1
    await until(() => {
      server.getConnections((_error, count) => {
        open = count
      })
      return open === 0
    })
  }
  return { server, open, openRaw, allClosed }
}

/** Sends a request whose events the test looks at itself. */
function send(session: ClientHttp2Session, path: string, body?: Buffer): ClientHttp2Stream {
  const request = session.request({ ':method': body ? 'POST' : 'GET', ':path': path }, { endStream: !body })
  request.on('error', () => {})
  if (body?.length) request.write(body)
  return request
}

const bodyOf = (session: ClientHttp2Session, path: string) => text(send(session, path))

/** The code with which the server has ended a stream. */
async function codeOf(request: ClientHttp2Stream): Promise<number> {
  await new Promise((done) => (request.destroyed ? done(undefined) : request.once('close', done)))
  return request.rstCode
}

const receivedBytes = (request: IncomingMessage) => (request as unknown as Http2Request).receivedBytes

// --- frames (RFC 9113)

const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
const types = { data: 0, headers: 1, settings: 4, windowUpdate: 8, continuation: 9 }

function frame(type: number, flags: number, streamId: number, payload = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(streamId, 5)
  return Buffer.concat([head, payload])
}

/** Of the static table (RFC 7541): `:method: POST`, `:path: /`, `:scheme: https`, and `:authority` with the value x. */
const postFields = Buffer.from([0x83, 0x84, 0x87, 0x01, 1, 0x78])
const post = (streamId: number) => frame(types.headers, 0x4, streamId, postFields)

test('a message has the properties of one over HTTP/1', async (t) => {
  const seen: unknown[] = []
  const { open } = await start(t, async (request, response) => {
    const { host, 'content-length': length, 'transfer-encoding': encoding } = request.headers
    const hasPseudoHeaders = Object.keys(request.headers).some((name) => name.startsWith(':'))
    const before = [request.complete, request.destroyed, response.destroyed]
    const body = await text(request)
    seen.push([host, length, encoding, hasPseudoHeaders, before, body, request.complete])
    response.end()
  })
  const session = open()
  const host = { ':authority': 'video.example', host: 'other.example' }
  await text(session.request({ ...host, ':path': '/' }))
  const sent = session.request({ ...host, ':method': 'POST', ':path': '/' })
  sent.end('abc')
  await text(sent)
  assert.deepEqual(seen, [
    ['video.example', undefined, undefined, false, [true, false, false], '', true],
    ['video.example', undefined, 'chunked', false, [false, false, false], 'abc', true],
  ])
})

test('a method that no handler expects is answered, and the connection goes on', async (t) => {
  const { open } = await start(t, ({ method }, response) => response.end(method))
  const session = open()
  const sent = session.request({ ':method': 'FOO', ':path': '/' })
  const [headers] = await once(sent, 'response')
  assert.deepEqual([headers[':status'], await text(sent)], [501, ''])
  assert.equal(await bodyOf(session, '/'), 'GET')
})

test('headers that are too long are refused, also before the client knows the limit', async (t) => {
  const { openRaw } = await start(t, (_request, response) => response.end('handled'))
  // It does not acknowledge the settings.
  const socket = await openRaw()
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
  })
  // A new name, "a", and a value of 127 + 0x80 * 0x80 bytes.
  const value = Buffer.alloc(127 + 0x80 * 0x80, 'x')
  const fields = Buffer.concat([postFields, Buffer.from([0, 1, 0x61, 0x7f, 0x80, 0x80, 0x01]), value])
  socket.write(
    Buffer.concat([
      frame(types.headers, 0x1, 1, fields.subarray(0, 16_000)),
      frame(types.continuation, 0x4, 1, fields.subarray(16_000)),
    ]),
  )
  // HPACK does not compress these digits.
  await until(() => received.includes('431'))
  assert.doesNotMatch(received, /handled/)
  socket.write(post(3))
  await until(() => received.includes('handled'))
})

test('a request that the client breaks off is not complete, and its messages are destroyed', async (t) => {
  for (const code of [noError, cancel]) {
    const ended = Promise.withResolvers<unknown[]>()
    const { open } = await start(t, (request, response) => {
      request.resume()
      response.once('close', () => ended.resolve([request.complete, request.destroyed, response.destroyed]))
      request.once('data', () => sent.close(code))
    })
    const sent = send(open(), '/', Buffer.alloc(100))
    assert.deepEqual(await ended.promise, [false, true, true], `code ${code}`)
  }
})

test('a response that is destroyed before its end is an error for the client', async (t) => {
  const { open } = await start(t, (_request, response) => {
    response.write('begun')
    setImmediate(() => response.destroy())
  })
  const sent = send(open(), '/').resume()
  assert.equal(await codeOf(sent), internalError)
})

test('a client can cancel hundreds of responses, and its connection still works', async (t) => {
  const { open } = await start(t, (request, response) => {
    if (request.url === '/') return response.end('ok')
    Readable.from(Array.from({ length: 20 }, () => Buffer.alloc(100_000)))
      .on('error', () => {})
      .pipe(response)
  })
  const session = open()
  for (let round = 0; round < 6; round++) {
    const sent = Array.from({ length: 50 }, () => send(session, '/large'))
    await Promise.all(sent.map((each) => once(each, 'response')))
    for (const each of sent) each.close(cancel)
    assert.equal(await bodyOf(session, '/'), 'ok')
  }
})

test('the rest of a body that trickles in after the response ends with its stream, not with the connection', async (t) => {
  const { open } = await start(t, (_request, response) => response.end('no'), quickly)
  const session = open()
  const sent = send(session, '/', Buffer.alloc(10))
  const timer = setInterval(() => sent.writable && sent.write('x'), 5)
  t.after(() => clearInterval(timer))
  assert.equal(await text(sent), 'no')
  assert.equal(await codeOf(sent), noError)
  assert.equal(await bodyOf(session, '/'), 'no')
})

test('the rest of a body that arrives quickly after the response is read', async (t) => {
  const closed = Promise.withResolvers<number>()
  const { open } = await start(t, (request, response) => {
    response.once('close', () => closed.resolve(receivedBytes(request)))
    response.end('no')
  })
  const sent = send(open(), '/', Buffer.alloc(10))
  await once(sent, 'response')
  sent.resume().end(Buffer.alloc(20_000_000))
  assert.equal(await closed.promise, 20_000_010)
  assert.equal(await codeOf(sent), noError)
})

for (const [what, body] of [
  ['a buffer', () => Buffer.alloc(50_000_000)],
  ['a stream', () => Readable.from(Array.from({ length: 500 }, () => Buffer.alloc(100_000)))],
] as const)
  test(`a response that the client does not read ends, and other requests of the connection do not: ${what}`, async (t) => {
    const closed = Promise.withResolvers<void>()
    const { open } = await start(
      t,
      (request, response) => {
        if (request.url === '/') return response.end('ok')
        response.once('close', closed.resolve)
        const content = body()
        if (Buffer.isBuffer(content)) response.end(content)
        else content.on('error', () => {}).pipe(response)
      },
      { ...quickly, ...never, stalledChecks: 3 },
    )
    const session = open()
    // Nothing reads it.
    const stalled = send(session, '/large')
    await closed.promise
    stalled.resume()
    assert.equal(await codeOf(stalled), cancel)
    assert.equal(await bodyOf(session, '/'), 'ok')
  })

test('a connection without requests ends, but not one whose request takes long', async (t) => {
  const finish = Promise.withResolvers<void>()
  const { open } = await start(
    t,
    async (request, response) => {
      if (request.url === '/long') await finish.promise
      response.end('done')
    },
    { ...quickly, idleChecks: 3 },
  )
  const [busy, idle] = [open(), open()]
  const long = send(busy, '/long')
  assert.equal(await bodyOf(idle, '/'), 'done')
  await once(idle, 'close')
  finish.resolve()
  assert.equal(await text(long), 'done')
})

test('a client that ignores the end of its connection is disconnected', async (t) => {
  const { openRaw, allClosed } = await start(t, () => {}, { ...quickly, idleChecks: 3 })
  const reading = await openRaw()
  reading.resume()
  const silent = await openRaw()
  silent.pause()
  await allClosed()
})

test('a client that reads nothing at all is disconnected', async (t) => {
  const closed = Promise.withResolvers<void>()
  const { openRaw, allClosed } = await start(
    t,
    (_request, response) => {
      response.once('close', closed.resolve)
      response.end(Buffer.alloc(50_000_000))
    },
    { ...quickly, stalledChecks: 3, idleChecks: 3 },
  )
  const socket = await openRaw()
  socket.pause()
  // The windows are as large as possible, so that the connection is what stalls.
  const settings = Buffer.from([0, 4, 0x7f, 0xff, 0xff, 0xff])
  const update = frame(types.windowUpdate, 0, 0, Buffer.from([0x7f, 0, 0, 0]))
  socket.write(Buffer.concat([frame(types.settings, 0, 0, settings), update, post(1)]))
  await closed.promise
  await allClosed()
})

test('a body in frames of one byte that nobody reads is kept in a few chunks', async (t) => {
  const received = Promise.withResolvers<IncomingMessage>()
  const { openRaw } = await start(t, (request) => received.resolve(request))
  const socket: TLSSocket = await openRaw()
  socket.resume()
  const count = 60_000
  socket.write(post(1))
  const request = await received.promise
  socket.write(Buffer.concat(Array.from({ length: count }, () => frame(types.data, 0, 1, Buffer.from('x')))))
  socket.write(frame(types.data, 1, 1))
  const { stream } = request as unknown as { stream: Readable }
  await until(() => stream.readableLength === count)
  // A reader of the request would get all of them at once.
  const chunks: Buffer[] = []
  stream.on('data', (chunk) => chunks.push(chunk))
  await once(stream, 'end')
  assert.equal(Buffer.concat(chunks).toString(), 'x'.repeat(count))
  assert.ok(chunks.length < 500, `${chunks.length} chunks`)
})

test('only a connection whose body is read gets a large window', async (t) => {
  const { open } = await start(t, async (request, response) => {
    if (request.url === '/read') request.resume()
    else if (request.method === 'POST') response.end()
    // Nobody reads the body of a GET request.
    else request.once('end', () => response.end())
  })
  const large = (session: ClientHttp2Session) => (session.remoteSettings.initialWindowSize ?? 0) > 1024 * 1024
  const [rejected, uploading] = [open(), open()]
  const refused = send(rejected, '/refused', Buffer.alloc(1_000_000))
  refused.resume().end()
  await codeOf(refused)
  const get = rejected.request({ ':path': '/' }, { endStream: false })
  get.resume().end(Buffer.alloc(1_000_000))
  await codeOf(get)
  send(uploading, '/read', Buffer.alloc(1_000_000))
  await until(() => large(uploading))
  const ping = Promise.withResolvers<void>()
  rejected.ping(() => ping.resolve())
  await ping.promise
  assert.ok(!large(rejected))
})

test('a body that is too slow is noticed, although another request of the connection is fast', async (t) => {
  const requests: IncomingMessage[] = []
  const { open } = await start(t, (request) => requests.push(request.resume()))
  const session = open()
  const slow = send(session, '/slow', Buffer.alloc(1))
  const fast = send(session, '/fast', Buffer.alloc(1))
  await until(() => requests.length === 2)
  t.mock.timers.enable({ apis: ['setInterval'] })
  const found: string[] = []
  for (const request of requests) watchSlowClient(request, () => found.push(request.url!), 600)
  for (let step = 1; step <= 7; step++) {
    slow.write('x')
    fast.write(Buffer.alloc(2_000))
    const arrived = () =>
      receivedBytes(requests[0]!) === 1 + step && receivedBytes(requests[1]!) === 1 + 2_000 * step
    await until(arrived)
    t.mock.timers.tick(100)
  }
  assert.deepEqual(found, ['/slow'])
})

test('a server that closes finishes the requests in progress', async (t) => {
  const finish = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const { server, open } = await start(t, async (_request, response) => {
    begun.resolve()
    await finish.promise
    response.end('done')
  })
  const session = open()
  const sent = send(session, '/')
  await begun.promise
  const closed = once(server, 'close')
  server.close()
  await once(session, 'goaway')
  finish.resolve()
  assert.equal(await text(sent), 'done')
  await closed
})
