import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, type IncomingMessage, request } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import Fastify from 'fastify'
import { createServer } from './connections.ts'
import { drain } from './drain.ts'
import type { App } from './http.ts'

/** Never reached in a test. */
const long = 3_600_000

/** A service with a request that takes until `release` is called. */
async function start(t: TestContext, tls?: { cert: Buffer; key: Buffer }) {
  const app = Fastify({
    return503OnClosing: false,
    serverFactory: (handler) => createServer(handler, tls),
  }) as unknown as App
  app.decorate('isClosing', false)
  app.addHook('onSend', (incoming, reply, payload, done) => {
    if (app.isClosing && incoming.raw.httpVersionMajor === 1) reply.header('connection', 'close')
    done(null, payload)
  })
  const [begun, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  app.get('/quick', async () => 'quick')
  app.get('/slow', async () => {
    begun.resolve()
    await released.promise
    return 'slow'
  })
  app.get('/download', (_request, reply) => {
    reply.hijack()
    reply.raw.write('first')
    begun.resolve()
    void released.promise.then(() => reply.raw.end(', last'))
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.after(() => {
    released.resolve()
    app.server.closeAllConnections()
  })
  const { port } = app.server.address() as AddressInfo
  return { app, port, begun: begun.promise, release: released.resolve }
}

async function send(port: number, agent: Agent, path: string) {
  const sent = request({ host: '127.0.0.1', port, path, agent }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return { connection: response.headers.connection, body: await text(response) }
}

const newAgent = (t: TestContext) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  return agent
}

async function isRefused(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ECONNREFUSED'
  } finally {
    socket.destroy()
  }
}

test('behind a proxy, new connections are refused and requests on open ones are answered, each as the last one', async (t) => {
  const { app, port, begun, release } = await start(t)
  const [idle, busy] = [newAgent(t), newAgent(t)]
  assert.equal((await send(port, idle, '/quick')).connection, 'keep-alive')
  const slow = send(port, busy, '/slow')
  await begun
  const drained = drain(app, { stopDelayMs: 1, stopTimeoutMs: long }, long)
  while (!(await isRefused(port))) await nextTurn()
  assert.deepEqual(await send(port, idle, '/quick'), { connection: 'close', body: 'quick' })
  release()
  assert.deepEqual(await slow, { connection: 'close', body: 'slow' })
  await drained
})

test('without a proxy, idle connections are closed and requests in progress are finished', async (t) => {
  const { app, port, begun, release } = await start(t)
  const idle = connect(port, '127.0.0.1')
  await once(idle, 'connect')
  idle.write('GET /quick HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(idle, 'data')
  const slow = send(port, newAgent(t), '/slow')
  await begun
  const closed = once(idle, 'close')
  const drained = drain(app, { stopDelayMs: 0, stopTimeoutMs: long })
  await closed
  release()
  assert.equal((await slow).body, 'slow')
  await drained
})

test('a connection whose response began before the stop is closed when it has ended', async (t) => {
  for (const keepIdleMs of [0, 1]) {
    const { app, port, begun, release } = await start(t)
    const agent = newAgent(t)
    const sent = request({ host: '127.0.0.1', port, path: '/download', agent }).end()
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    assert.equal(response.headers.connection, 'keep-alive')
    await begun
    const drained = drain(app, { stopDelayMs: keepIdleMs, stopTimeoutMs: long }, keepIdleMs)
    while (!(await isRefused(port))) await nextTurn()
    release()
    assert.equal(await text(response), 'first, last')
    await drained
  }
})

test('a request that takes longer than the time limit is disconnected', async (t) => {
  const { app, port, begun } = await start(t)
  const slow = send(port, newAgent(t), '/slow')
  await begun
  const rejected = assert.rejects(slow, { code: 'ECONNRESET' })
  await drain(app, { stopDelayMs: 0, stopTimeoutMs: 1 })
  await rejected
})

test('clients over HTTP/2 get GOAWAY, and responses to the requests that they have sent before', async (t) => {
  const { app, port, begun, release } = await start(t, certificate())
  const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false })
  t.after(() => session.destroy())
  const slow = session.request({ ':path': '/slow' })
  const body = text(slow)
  await begun
  const goaway = once(session, 'goaway')
  const drained = drain(app, { stopDelayMs: 1, stopTimeoutMs: long }, long)
  assert.equal((await goaway)[0], 0)
  release()
  assert.equal(await body, 'slow')
  await drained
})

function certificate() {
  const folder = mkdtempSync(join(tmpdir(), 'kinora-tls-'))
  const [key, cert] = [join(folder, 'key'), join(folder, 'cert')]
  const options = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost']
  execFileSync('openssl', ['req', ...options, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  const tls = { cert: readFileSync(cert), key: readFileSync(key) }
  rmSync(folder, { recursive: true })
  return tls
}
