import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from 'node:net'

type Cleanup = { after(end: () => unknown): void }

export async function freePort(): Promise<number> {
  const server = createTcpServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((done) => server.close(done))
  return port
}

async function listen(t: Cleanup, server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

/**
 * A reverse proxy that keeps connections open and divides requests, as nginx does by default: only a request whose
 * connection was refused goes to the next process. Returns its URL.
 */
export async function startHttpProxy(t: Cleanup, ports: number[]): Promise<string> {
  const agent = new Agent({ keepAlive: true })
  t.after(() => agent.destroy())
  let next = 0

  function pass(incoming: IncomingMessage, outgoing: ServerResponse, [port, ...others]: number[]): void {
    const { method, url: path, headers } = incoming
    const sent = request({ host: '127.0.0.1', port, method, path, headers, agent })
    sent.on('response', (response) => {
      const { connection: _, 'keep-alive': __, ...kept } = response.headers
      outgoing.writeHead(response.statusCode!, kept)
      response.pipe(outgoing)
      response.on('error', () => outgoing.destroy())
    })
    sent.on('error', (error: NodeJS.ErrnoException) => {
      if (error.syscall === 'connect' && others.length > 0) return pass(incoming, outgoing, others)
      if (outgoing.headersSent) return outgoing.destroy()
      outgoing.writeHead(502).end(`${method} ${path} to port ${port}: ${error.message}`)
    })
    // The body is read only when the connection is open, so nothing of it is lost with a refused one.
    sent.on('socket', (socket) => {
      const send = () => incoming.pipe(sent)
      if (socket.connecting) socket.once('connect', send)
      else send()
    })
    outgoing.on('close', () => {
      if (!outgoing.writableFinished) sent.destroy()
    })
  }
  const server = createServer((incoming, outgoing) => {
    const first = next++ % ports.length
    pass(incoming, outgoing, [...ports.slice(first), ...ports.slice(0, first)])
  })
  t.after(() => server.closeAllConnections())
  return `http://127.0.0.1:${await listen(t, server)}`
}

/** Passes on each connection to the first process that accepts it. Returns its port. */
export async function startTcpProxy(t: Cleanup, ports: number[]): Promise<number> {
  const server = createTcpServer({ pauseOnConnect: true }, async (client) => {
    client.on('error', () => {})
    for (const port of ports) {
      const socket = connect(port, '127.0.0.1')
      try {
        await once(socket, 'connect')
      } catch {
        continue
      }
      for (const [from, to] of [
        [client, socket],
        [socket, client],
      ] as const) {
        from.pipe(to)
        from.on('close', () => to.destroy())
        from.on('error', () => to.destroy())
      }
      return
    }
    client.destroy()
  })
  return listen(t, server)
}
