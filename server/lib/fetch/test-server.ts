import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { type FailureKind, FetchError } from './errors.ts'
import { createGuardedFetch, type GuardedFetchOptions, type GuardedRequest } from './guarded-fetch.ts'

/** Much longer than anything takes on a busy machine. */
const timeoutMs = 300_000

export const usual: GuardedRequest = {
  maxRedirects: 5,
  connectTimeoutMs: timeoutMs,
  headersTimeoutMs: timeoutMs,
  idleTimeoutMs: timeoutMs,
}

/** A public IP address. Connections to it go to loopback in the tests. */
export const publicAddress = '93.184.215.14'

/** A server that sends exactly the bytes of a test. `sockets` are the open connections. */
export async function listen(t: TestContext, onSocket: (socket: Socket) => void) {
  const server = createServer()
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
    onSocket(socket)
    // A socket that is not read does not emit its end.
    if (socket.listenerCount('data') === 0) socket.resume()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const each of sockets) each.destroy()
    server.close()
  })
  const { port } = server.address() as { port: number }
  return { port, url: `http://127.0.0.1:${port}`, sockets }
}

/** Sends what `answer` returns once the headers of a request have arrived. */
export const answering =
  (answer: (request: string, socket: Socket) => string | undefined) => (socket: Socket) => {
    let request = ''
    socket.on('data', (bytes) => {
      request += bytes.toString('latin1')
      if (!request.includes('\r\n\r\n')) return
      const response = answer(request, socket)
      if (response !== undefined) socket.end(response, 'latin1')
    })
  }

export function open(t: TestContext, options: Partial<GuardedFetchOptions> = {}) {
  const client = createGuardedFetch({ allowPrivateNetworks: true, userAgent: 'kinora-test', ...options })
  t.after(() => client.close())
  return client
}

/** A client with the given DNS answers, one row for each lookup. All its connections go to loopback. */
export function openWithNames(t: TestContext, port: number, answers: string[][], isPrivateAllowed = false) {
  const lookedUp: string[] = []
  const dialled: string[] = []
  const client = open(t, {
    allowPrivateNetworks: isPrivateAllowed,
    lookup(host, _options, callback) {
      const row = answers[Math.min(lookedUp.length, answers.length - 1)]!
      lookedUp.push(host)
      callback(
        null,
        row.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      )
    },
    connect(address) {
      dialled.push(address)
      return connect(port, '127.0.0.1')
    },
  })
  return { client, lookedUp, dialled }
}

export async function readAll(body: AsyncIterable<Buffer>): Promise<string> {
  let text = ''
  for await (const chunk of body) text += chunk.toString('latin1')
  return text
}

export async function until(condition: () => boolean): Promise<void> {
  const end = Date.now() + timeoutMs
  while (!condition()) {
    if (Date.now() > end) throw new Error(`not within ${timeoutMs} ms: ${condition}`)
    await new Promise((done) => setTimeout(done, 5))
  }
}

export const isFailure = (kind: FailureKind, isRetryable: boolean) => (error: unknown) =>
  error instanceof FetchError && error.kind === kind && error.isRetryable === isRetryable

export const ok = (body: string, headers = '') =>
  `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n${headers}\r\n${body}`
export const redirect = (status: number, location: string) =>
  `HTTP/1.1 ${status} Moved\r\nlocation: ${location}\r\ncontent-length: 0\r\n\r\n`
