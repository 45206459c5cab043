import { lookup } from 'node:dns/promises'
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { joinSmallChunks } from './join-chunks.ts'

/**
 * Connections are checked at intervals, and their limits are counted in checks: after a pause of the whole process the
 * next check comes only when what arrived meanwhile has been read, so a busy machine cuts nobody off.
 */
export type ConnectionLimits = {
  checkMs: number
  /** How long the headers of a request, or a TLS handshake, may take. */
  headersMs: number
  /** Checks without progress after which a client that does not read its response is disconnected. */
  stalledChecks: number
  /** After the response, checks in a row that the rest of the request body may be slow. */
  slowChecks: number
  /** A rest that arrives faster is not slow, per check. */
  minBytes: number
  /** After the response, checks until the rest of the request body must have arrived. */
  lingerChecks: number
  /** Requests of all connections that wait for the response to an earlier request on the same connection. */
  maxWaiting: number
}

const defaults: ConnectionLimits = {
  checkMs: 5_000,
  headersMs: 60_000,
  // Five minutes. The systems on both sides keep megabytes and take more only when a third of them is read: of a client
  // that reads 10 KB per second, nothing is seen for more than two minutes.
  stalledChecks: 60,
  slowChecks: 2,
  minBytes: 32 * 1024,
  lingerChecks: 60,
  maxWaiting: 10_000,
}

/** Longer than proxies keep connections to us open, so that they never use one that we are closing. */
const keepAliveMs = 72_000

type Exchange = { request: IncomingMessage; response: ServerResponse }

type Connection = {
  socket: Socket
  /** The request that is being answered. */
  current: Exchange | undefined
  /** Pipelined requests behind it. */
  waiting: Exchange[]
  /** Nothing is read while requests wait. */
  isPaused: boolean
  /** Sent after the responses to all complete requests, as the last response on the connection. */
  refusal: string | undefined
  /** The body of a request still arrives although the request was answered, or we have closed our side. */
  isLingering: boolean
  /** State of the checks. */
  written: number
  stalledChecks: number
  read: number
  slowChecks: number
  lingerChecks: number
}

const connections = new WeakMap<Socket, Connection>()

/**
 * An HTTP server whose connections cost a bounded amount of memory and all end. Node by itself hands out every
 * pipelined request at once and keeps the responses in memory, and waits without a limit for the rest of a body and for
 * a client that does not read.
 */
export function createServer(
  handler: RequestListener,
  tls: { cert: Buffer; key: Buffer } | undefined,
  limits: Partial<ConnectionLimits> = {},
): Server {
  const { checkMs, headersMs, maxWaiting, ...checked } = { ...defaults, ...limits }
  const open = new Set<Connection>()
  let waiting = 0

  function accept(socket: Socket): void {
    const connection: Connection = {
      ...{ socket, current: undefined, waiting: [], isPaused: false, refusal: undefined, isLingering: false },
      ...{ written: 0, stalledChecks: 0, read: 0, slowChecks: 0, lingerChecks: 0 },
    }
    connections.set(socket, connection)
    open.add(connection)
    // Makes Node read decrypted bytes as a stream. Otherwise they go straight into its parser, also while it has paused
    // the parser because a client does not read, and are taken for a fault of the client.
    if (tls) socket.on('data', () => {})
    // Node resumes the connection after each request and whenever the client has read something.
    socket.on('resume', () => {
      if (connection.isPaused) socket.pause()
    })
    socket.once('close', () => {
      open.delete(connection)
      waiting -= connection.waiting.length
      connection.waiting = []
    })
    // Node calls this after a response that ends the connection. Closing a connection on which the client still sends
    // would make the client's system discard the response.
    const destroySoon = socket.destroySoon.bind(socket)
    socket.destroySoon = () => {
      if (connection.current?.request.complete !== false) return destroySoon()
      socket.end()
    }
  }

  function dispatch(request: IncomingMessage, response: ServerResponse): void {
    const connection = connections.get(request.socket)
    // After the last response nothing more is answered.
    if (!connection || !request.socket.writable) return
    if (hasBody(request)) joinSmallChunks(request)
    if (!connection.current) return void begin(connection, { request, response })
    if (waiting >= maxWaiting) return void request.socket.destroy()
    waiting++
    connection.waiting.push({ request, response })
    connection.isPaused = true
    request.socket.pause()
  }

  function begin(connection: Connection, exchange: Exchange): void {
    connection.current = exchange
    exchange.response.once('close', () => finish(connection, exchange))
    handler(exchange.request, exchange.response)
  }

  function finish(connection: Connection, { request }: Exchange): void {
    const { socket } = connection
    connection.current = undefined
    if (socket.destroyed) return
    // No other request can have been read before the end of this one.
    if (!request.complete) return void linger(connection, request)
    const next = connection.waiting.shift()
    if (next) waiting--
    // The client may have closed its side after the last request, which is to be seen only after its response. A body
    // that has not arrived is needed now.
    if (connection.isPaused && next?.request.complete !== true) {
      connection.isPaused = false
      if (!isPausedByNode(socket)) socket.resume()
    }
    if (!next || isFaulty(connection, next)) return void sendRefusal(connection)
    // Also keeps requests that arrive from now on in line.
    connection.current = next
    // Other connections have their turn in between.
    setImmediate(() => {
      if (socket.writable) begin(connection, next)
    })
  }

  const timer = setInterval(() => {
    for (const connection of open) if (hasFailed(connection, checked)) connection.socket.destroy()
  }, checkMs).unref()

  const options = { connectionsCheckingInterval: checkMs, keepAliveTimeout: keepAliveMs }
  const server = tls
    ? createHttpsServer({ ...options, ...tls, handshakeTimeout: headersMs }, dispatch)
    : createHttpServer(options, dispatch)
  // Not for a request as a whole, which may be an upload of hours: each way of reading a body has its limit.
  server.requestTimeout = 0
  // Node derives it from that one when it is created.
  server.headersTimeout = headersMs
  server.on(tls ? 'secureConnection' : 'connection', accept)
  server.once('close', () => clearInterval(timer))
  return server
}

/**
 * The name localhost stands for an address of IPv4 and one of IPv6 on most machines, and a server listens on one. Takes
 * connections to the other ones for it, on the same port. One that cannot be used is left out.
 */
export async function listenOnAllOf(host: string, server: Server): Promise<{ close(): Promise<void> }> {
  const { address: own, port } = server.address() as AddressInfo
  const others = (await lookup(host, { all: true })).filter(({ address }) => address !== own)
  const forwarders = others.map(({ address }) => {
    const forwarder = createTcpServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
      server.emit('connection', socket),
    )
    forwarder.on('error', () => {})
    return forwarder.listen(port, address)
  })
  return {
    async close() {
      for (const forwarder of forwarders) forwarder.close()
    },
  }
}

/** Until the client has read something; Node does not expect to get data before. Not part of what Node documents. */
const isPausedByNode = (socket: Socket) => (socket as unknown as { _paused?: boolean })._paused === true

/** Ends a connection that sent something other than a request, with this as its last response. For 'clientError'. */
export function refuse(socket: Socket, answer: string): void {
  const connection = connections.get(socket)
  if (!connection) return void socket.destroy()
  // The client has its response already. It closes its side in the middle of a body, or goes on sending.
  if (connection.isLingering) return void socket.end()
  if (connection.refusal !== undefined) return
  if (!socket.writable) return void socket.destroy()
  connection.refusal = answer
  const { current } = connection
  if (current && !isFaulty(connection, current)) return
  if (current?.response.headersSent) return void socket.destroy()
  connection.current = undefined
  sendRefusal(connection)
}

/** The fault is in the body of the last request, or else comes after it. */
const isFaulty = ({ refusal }: Connection, { request }: Exchange) =>
  refusal !== undefined && !request.complete

function sendRefusal(connection: Connection): void {
  if (connection.refusal === undefined) return
  connection.socket.end(connection.refusal)
  linger(connection)
}

/** Whatever the client still sends is read and thrown away for a while, so that it gets to read the response. */
function linger(connection: Connection, request?: IncomingMessage): void {
  connection.isLingering = true
  connection.read = connection.socket.bytesRead
  connection.slowChecks = connection.lingerChecks = 0
  request?.once('end', () => {
    connection.isLingering = false
    if (!connection.socket.writable) connection.socket.destroy()
  })
  request?.unpipe().resume()
}

/** Whether a connection has reached one of its limits. */
function hasFailed(
  connection: Connection,
  limits: Pick<ConnectionLimits, 'stalledChecks' | 'slowChecks' | 'minBytes' | 'lingerChecks'>,
): boolean {
  const { socket } = connection
  const written = writtenBytes(socket)
  const isStalled = socket.writableLength > 0 && written === connection.written
  connection.written = written
  connection.stalledChecks = isStalled ? connection.stalledChecks + 1 : 0
  if (connection.stalledChecks >= limits.stalledChecks) return true

  if (!connection.isLingering) return false
  const isSlow = socket.bytesRead - connection.read < limits.minBytes
  connection.read = socket.bytesRead
  connection.slowChecks = isSlow ? connection.slowChecks + 1 : 0
  connection.lingerChecks++
  return connection.slowChecks >= limits.slowChecks || connection.lingerChecks >= limits.lingerChecks
}

/**
 * What the system has taken for the client. Of a long buffer it takes one part after the other, which only the length
 * of the queue shows; that is not part of what Node documents.
 */
function writtenBytes(socket: Socket): number {
  const handle = (socket as unknown as { _handle?: { writeQueueSize?: number } | null })._handle
  return socket.bytesWritten - (handle?.writeQueueSize ?? 0)
}

const hasBody = ({ headers }: IncomingMessage) =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
