import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import type { RequestListener, ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { before, describe, type TestContext, test } from 'node:test'
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import type { ConnectionLimits } from './connection-limits.ts'
import { createServer, rejectConnection } from './connections.ts'

const refusal = 'HTTP/1.1 400 Bad Request\r\ncontent-length: 7\r\nconnection: close\r\n\r\nrefused'
const get = (path: string, ...headers: string[]) =>
  `${[`GET ${path} HTTP/1.1`, 'host: x', ...headers].join('\r\n')}\r\n\r\n`
const last = 'connection: close'
const post = (...headers: string[]) => `${['POST / HTTP/1.1', 'host: x', ...headers].join('\r\n')}\r\n\r\n`
const bodies = (answer: string) => answer.split(/HTTP\/1\.1 .*?\r\n\r\n/s).slice(1)

/** Far longer than any condition takes, even on a busy machine. */
const timeoutMs = 120_000

async function waitFor(condition: () => boolean | Promise<boolean>): Promise<void> {
  const start = Date.now()
  while (!(await condition())) {
    assert.ok(Date.now() - start < timeoutMs, 'did not come true')
    await delay(5)
  }
}

function answer(response: ServerResponse, status: number, body = ''): void {
  response.statusCode = status
  response.end(body)
}

let tls: { cert: Buffer; key: Buffer }
before(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kinora-tls-'))
  const [key, cert] = [join(folder, 'key'), join(folder, 'cert')]
  const options = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost']
  execFileSync('openssl', ['req', ...options, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  tls = { cert: await readFile(cert), key: await readFile(key) }
  await rm(folder, { recursive: true })
})

for (const protocol of ['http', 'https'] as const) {
  describe(`connections over ${protocol}`, () => {
    async function start(t: TestContext, handler: RequestListener, limits?: Partial<ConnectionLimits>) {
      const server = createServer(handler, protocol === 'https' ? tls : undefined, limits)
      server.on('clientError', (_error, socket) => rejectConnection(socket as Socket, refusal))
      await once(server.listen(0, '127.0.0.1'), 'listening')
      t.after(() => {
        server.close()
        server.closeAllConnections()
      })
      const { port } = server.address() as AddressInfo
      // A client that closes its side only when the test does so.
      const target = { port, host: '127.0.0.1', allowHalfOpen: true }
      const open = async () => {
        const socket =
          protocol === 'https' ? connectTls({ ...target, rejectUnauthorized: false }) : connect(target)
        t.after(() => socket.destroy())
        socket.on('error', () => {})
        await once(socket, protocol === 'https' ? 'secureConnect' : 'connect')
        return socket
      }
      const allClosed = () =>
        waitFor(() => new Promise((done) => server.getConnections((_error, count) => done(count === 0))))
      return { server, port, open, allClosed }
    }

    /** Counts requests that the handler has received, and those without a response. */
    function counting(handler: RequestListener) {
      const count = { started: 0, running: 0, highest: 0 }
      const listener: RequestListener = (request, response) => {
        count.started++
        count.highest = Math.max(count.highest, ++count.running)
        response.once('close', () => count.running--)
        handler(request, response)
      }
      return { count, listener }
    }

    test('pipelined requests are handled one at a time and answered in order', async (t) => {
      const { count, listener } = counting(async (request, response) => {
        for (let i = Number(request.url!.slice(1)) % 4; i > 0; i--) await turn()
        response.end(request.url)
      })
      const { open } = await start(t, listener)
      const socket = await open()
      const paths = Array.from({ length: 3_000 }, (_, i) => `/${i}`)
      socket.write(paths.map((path, i) => get(path, ...(i === paths.length - 1 ? [last] : []))).join(''))
      assert.deepEqual(bodies(await text(socket)), paths)
      assert.equal(count.highest, 1)
    })

    test('bodies of pipelined requests belong to their requests', async (t) => {
      const { open } = await start(t, async (request, response) => {
        response.end(`${request.url} ${(await text(request)).length}`)
      })
      const socket = await open()
      const big = 'x'.repeat(300_000)
      socket.write(get('/a'))
      socket.write(`${post('content-length: 3')}abc${get('/b')}`)
      socket.write(`${post(`content-length: ${big.length}`)}${big}`)
      socket.write(get('/c', last))
      assert.deepEqual(bodies(await text(socket)), ['/a 0', '/ 3', '/b 0', '/ 300000', '/c 0'])
    })

    test('for a client that pipelines and does not read, one response is prepared and no more requests are read', async (t) => {
      const body = Buffer.alloc(1024 * 1024, 'x')
      const { count, listener } = counting((_request, response) => response.end(body))
      const { server, open } = await start(t, listener)
      const accepted = once(server, protocol === 'https' ? 'secureConnection' : 'connection')
      const socket = await open()
      const [served] = (await accepted) as [Socket]
      const many = 100
      for (let i = 0; i < many; i++)
        socket.write(get(`/${'y'.repeat(10_000)}`, ...(i === many - 1 ? [last] : [])))
      // Stalled: the system accepts no more bytes.
      await waitFor(() => served.writableLength > 0)
      // Other requests are handled, so this connection has many chances to continue.
      for (let i = 0; i < 20; i++) {
        const other = await open()
        other.write(get('/', last))
        assert.equal(bodies(await text(other))[0]?.length, body.length)
      }
      assert.ok(count.started < many / 2, `${count.started} requests were handled`)
      // The current request, and one of another connection.
      assert.ok(count.highest <= 2)
      assert.ok(served.bytesRead < 500_000, `${served.bytesRead} bytes were read`)
      assert.equal(bodies(await text(socket)).length, many)
    })

    test('the number of waiting requests of all connections is limited', async (t) => {
      const { open, allClosed } = await start(t, () => {}, { maxWaiting: 50 })
      const flooding = await open()
      flooding.resume().write(get('/').repeat(100))
      await allClosed()
    })

    if (protocol === 'http')
      test('a client that closes its side after pipelined requests gets all responses', async (t) => {
        const { open } = await start(t, async (request, response) => {
          await turn()
          response.end(request.url)
        })
        const socket = await open()
        socket.end(get('/a') + get('/b') + get('/c'))
        assert.deepEqual(bodies(await text(socket)), ['/a', '/b', '/c'])
      })

    describe('every connection ends', () => {
      const quickly = { checkMs: 20 }

      /** Sends a few bytes repeatedly until the connection is closed. */
      async function trickle(socket: Socket, part: string): Promise<void> {
        while (!socket.destroyed) {
          socket.write(part)
          await delay(5)
        }
      }

      /** Collects what the client receives. The client itself does not close the connection. */
      function receive(socket: Socket): { answer: () => string } {
        let answer = ''
        socket.on('data', (chunk) => {
          answer += chunk
        })
        return { answer: () => answer }
      }

      for (const [what, headers] of [
        ['the client keeps the connection', []],
        ['the response ends the connection', [last]],
      ] as const)
        test(`a body that trickles in after the response: ${what}`, async (t) => {
          const { open } = await start(t, (_request, response) => answer(response, 401, 'no'), quickly)
          for (const [length, part] of [
            ['content-length: 1000000', 'x'],
            ['transfer-encoding: chunked', '1\r\nx\r\n'],
          ] as const) {
            const socket = await open()
            const { answer } = receive(socket)
            socket.write(post(length, ...headers))
            await trickle(socket, part)
            assert.match(answer(), /^HTTP\/1\.1 401 .*no/s)
          }
        })

      test('trailers that trickle in after the response', async (t) => {
        const { open } = await start(t, (_request, response) => response.end('done'), quickly)
        const socket = await open()
        const { answer } = receive(socket)
        socket.write(`${post('transfer-encoding: chunked')}1\r\nx\r\n0\r\nx-first: 1\r\nx-`)
        await trickle(socket, 'y')
        assert.match(answer(), /done/)
      })

      test('headers that trickle in', async (t) => {
        const { server, open } = await start(t, () => assert.fail('not a request'), quickly)
        const socket = await open()
        assert.equal(server.headersTimeout, 60_000)
        // Only now, because the limit applies to the TLS handshake as well.
        server.headersTimeout = 100
        const { answer } = receive(socket)
        socket.write('GET / HTTP/1.1\r\nx-')
        await trickle(socket, 'y')
        assert.match(answer(), /refused$/)
      })

      test('a client that sends nothing at all', async (t) => {
        const limits = { ...quickly, headersMs: 100 }
        const { port, open, allClosed } = await start(t, () => assert.fail('not a request'), limits)
        // On a busy machine, the TLS handshake may exceed the limit.
        await open().then(
          (socket) => socket.resume(),
          () => {},
        )
        // Not even the TLS handshake.
        const silent = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).resume()
        t.after(() => silent.destroy())
        await once(silent, 'connect')
        await allClosed()
      })

      test('a client that does not close its side after its request was rejected', async (t) => {
        const { open, allClosed } = await start(t, () => assert.fail('not a request'), quickly)
        for (const goOn of [true, false]) {
          const socket = await open()
          const { answer } = receive(socket)
          socket.write('NONSENSE\r\n\r\n')
          // Read the response first: a reset connection may discard bytes that the client has not read.
          await waitFor(() => answer() === refusal)
          if (goOn) await trickle(socket, 'more')
          await allClosed()
          socket.destroy()
        }
      })

      for (const [what, send] of [
        ['a buffer', () => Buffer.alloc(50_000_000)],
        ['a stream', () => Readable.from(Array.from({ length: 500 }, () => Buffer.alloc(100_000)))],
      ] as const)
        test(`a client that does not read its response: ${what}`, async (t) => {
          const closed = Promise.withResolvers<void>()
          const { open } = await start(
            t,
            (_request, response) => {
              response.once('close', closed.resolve)
              const content = send()
              if (Buffer.isBuffer(content)) response.end(content)
              else content.on('error', () => {}).pipe(response)
            },
            { ...quickly, stalledChecks: 3 },
          )
          const socket = await open()
          socket.pause().write(get('/'))
          await closed.promise
        })
    })

    test('a client that sends the rest of its body quickly after the response keeps its connection', async (t) => {
      const { open } = await start(t, (request, response) =>
        answer(response, request.method === 'POST' ? 413 : 200, request.method),
      )
      const socket = await open()
      const rest = Buffer.alloc(20_000_000)
      socket.write(post(`content-length: ${rest.length}`))
      await once(socket, 'readable')
      socket.write(rest)
      socket.write(get('/', last))
      assert.deepEqual(bodies(await text(socket)), ['POST', 'GET'])
    })

    test('a client that sends everything before it reads gets a response that ends the connection', async (t) => {
      const { open } = await start(t, (_request, response) => answer(response, 413, 'too large'))
      const socket = await open()
      const rest = Buffer.alloc(20_000_000)
      socket.write(post(`content-length: ${rest.length}`, last))
      await new Promise((done) => socket.write(rest, done))
      assert.deepEqual(bodies(await text(socket)), ['too large'])
    })

    test('invalid bytes are rejected after the responses to the requests before them', async (t) => {
      const { open } = await start(t, async (request, response) => {
        response.write('slow')
        for (let i = 0; i < 20; i++) await turn()
        response.end(request.url)
      })
      const socket = await open()
      socket.write(`${get('/a')}${get('/b')}NONSENSE\r\n\r\n`)
      const answer = await text(socket)
      assert.equal(answer.split('HTTP/1.1').length, 4, answer)
      assert.ok(answer.indexOf('/a') < answer.indexOf('/b'))
      assert.ok(answer.endsWith(refusal))
    })

    test('a malformed body is rejected, and a response that has started is broken off', async (t) => {
      const { open } = await start(t, (request, response) => {
        if (request.url === '/begun') response.write('begun')
      })
      const bad = 'transfer-encoding: chunked\r\n\r\nzzz\r\n'
      const socket = await open()
      socket.write(`POST / HTTP/1.1\r\nhost: x\r\n${bad}`)
      assert.equal(await text(socket), refusal)
      const begun = await open()
      begun.write('POST /begun HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n')
      await once(begun, 'readable')
      begun.write('zzz\r\n')
      assert.ok(!(await text(begun).catch(() => '')).includes('refused'))
    })
  })
}
