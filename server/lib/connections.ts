import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createSecureServer, type SecureServerOptions } from 'node:http2'
import { Server as NetServer, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  type Connection,
  type ConnectionLimits,
  defaultLimits,
  type Exchange,
  exceedsLimits,
  newConnection,
} from './connection-limits.ts'
import { Http2Connections, http2Options } from './http2-connections.ts'
import { Http2Request, type Http2Response } from './http2-messages.ts'
import { joinSmallChunks } from './join-chunks.ts'

/** Longer than proxies keep idle connections, so that they never send a request on a connection that is being closed. */
const keepAliveMs = 72_000

const connections = new WeakMap<Socket, Connection>()
const http2Connections = new WeakMap<Server, Http2Connections>()

/**
 * An HTTP server whose connections use a limited amount of memory and all end. Without this, Node handles all pipelined
 * requests at once and keeps their responses in memory, and waits forever for the rest of a body and for a client that
 * does not read. With TLS, clients can choose HTTP/2.
 */
export function createServer(
  handler: RequestListener,
  tls: { cert: Buffer; key: Buffer } | undefined,
  limits: Partial<ConnectionLimits> = {},
): Server {
  const { checkMs, headersMs, maxWaiting, ...checked } = { ...defaultLimits, ...limits }
  const dispatcher = new Dispatcher(handler, maxWaiting, tls !== undefined)
  const http2 = new Http2Connections(handler, checked)
  const timer = setInterval(() => {
    for (const connection of dispatcher.open)
      if (exceedsLimits(connection, checked)) connection.socket.destroy()
    http2.check()
  }, checkMs).unref()
  const options = { connectionsCheckingInterval: checkMs, keepAliveTimeout: keepAliveMs }
  const server = tls
    ? createTlsServer({ ...options, ...tls, handshakeTimeout: headersMs }, dispatcher, http2)
    : createHttpServer(options, (request, response) => dispatcher.dispatch(request, response))
  http2Connections.set(server, http2)
  // An upload may take hours. Each way of reading a body has its own limit.
  server.requestTimeout = 0
  // Node derives it from requestTimeout when the server is created.
  server.headersTimeout = headersMs
  if (!tls) server.on('connection', (socket) => dispatcher.accept(socket))
  server.once('close', () => clearInterval(timer))
  return server
}

/** Refuses new connections, and sends GOAWAY over HTTP/2. Connections over HTTP/1 stay open, also if they are idle. */
export async function stopAccepting(server: Server): Promise<void> {
  await untilAllAccepted(server)
  // The method of HTTP servers ends idle connections, on which a client may be sending a request at this moment.
  NetServer.prototype.close.call(server)
  http2Connections.get(server)?.leave()
}

const maxTurns = 1_000

/**
 * The system has completed connections that the server has not accepted yet, and resets them when the server closes. Their
 * clients may have sent a request already. So the server closes in a turn of the event loop that found none.
 */
async function untilAllAccepted(server: Server): Promise<void> {
  let hasAccepted = true
  const accept = () => {
    hasAccepted = true
  }
  server.on('connection', accept)
  for (let turn = 0; hasAccepted && turn < maxTurns; turn++) {
    hasAccepted = false
    await nextTurn()
  }
  server.off('connection', accept)
}

/** A server for HTTP/1 and HTTP/2. The client chooses. */
function createTlsServer(
  options: SecureServerOptions,
  dispatcher: Dispatcher,
  http2: Http2Connections,
): Server {
  const server = createSecureServer(
    { ...options, ...http2Options, allowHTTP1: true },
    (request, response) => {
      if (request instanceof Http2Request) http2.dispatch(request, response as unknown as Http2Response)
      else dispatcher.dispatch(request as unknown as IncomingMessage, response as unknown as ServerResponse)
    },
  )
  // Node creates the session in its own listener for this event. The session has only a proxy for the socket, which
  // cannot be destroyed before the client has read everything.
  let accepted: Socket
  server.prependListener('secureConnection', (socket) => {
    accepted = socket
  })
  server.on('session', (session) => http2.accept(session, accepted))
  server.on('secureConnection', (socket) => {
    if (socket.alpnProtocol !== 'h2') dispatcher.accept(socket)
  })
  // Has all other properties of a server for HTTP/1 that are used.
  return Object.assign(server as unknown as Server, {
    closeAllConnections() {
      for (const { socket } of dispatcher.open) socket.destroy()
      http2.closeAll()
    },
  })
}

/** Passes the requests of each connection to the handler one at a time. */
class Dispatcher {
  readonly open = new Set<Connection>()
  readonly #handler: RequestListener
  readonly #maxWaiting: number
  readonly #isEncrypted: boolean
  #waiting = 0

  constructor(handler: RequestListener, maxWaiting: number, isEncrypted: boolean) {
    this.#handler = handler
    this.#maxWaiting = maxWaiting
    this.#isEncrypted = isEncrypted
  }

  accept(socket: Socket): void {
    const connection = newConnection(socket)
    connections.set(socket, connection)
    this.open.add(connection)
    // Makes Node read decrypted bytes as a stream. Otherwise they go directly to its parser, even while Node has paused
    // the parser because the client does not read, and Node treats that as an error of the client.
    if (this.#isEncrypted) socket.on('data', () => {})
    // Node resumes the connection after each request and whenever the client has read something.
    socket.on('resume', () => {
      if (connection.isPaused) socket.pause()
    })
    socket.once('close', () => {
      this.open.delete(connection)
      this.#waiting -= connection.waiting.length
      connection.waiting = []
    })
    // Node calls this after a response that ends the connection. If the connection is closed while the client still
    // sends, the client's system discards the response.
    const destroySoon = socket.destroySoon.bind(socket)
    socket.destroySoon = () => {
      if (connection.current?.request.complete !== false) return destroySoon()
      socket.end()
    }
  }

  dispatch(request: IncomingMessage, response: ServerResponse): void {
    const connection = connections.get(request.socket)
    // Requests after the last response are ignored.
    if (!connection || !request.socket.writable) return
    if (hasBody(request)) joinSmallChunks(request)
    if (!connection.current) return void this.#begin(connection, { request, response })
    if (this.#waiting >= this.#maxWaiting) return void request.socket.destroy()
    this.#waiting++
    connection.waiting.push({ request, response })
    connection.isPaused = true
    request.socket.pause()
  }

  #begin(connection: Connection, exchange: Exchange): void {
    connection.current = exchange
    exchange.response.once('close', () => this.#finish(connection, exchange))
    this.#handler(exchange.request, exchange.response)
  }

  #finish(connection: Connection, { request }: Exchange): void {
    const { socket } = connection
    connection.current = undefined
    if (socket.destroyed) return
    // No other request can have been read before the end of this one.
    if (!request.complete) return void linger(connection, request)
    const next = connection.waiting.shift()
    if (next) this.#waiting--
    // If the client has closed its side after the last request, that may be noticed only after its response. A body
    // that has not arrived yet is needed now.
    if (connection.isPaused && next?.request.complete !== true) {
      connection.isPaused = false
      if (!isPausedByNode(socket)) socket.resume()
    }
    if (!next || isMalformed(connection, next)) return void sendLastResponse(connection)
    // Set now, so that requests that arrive before the next turn have to wait.
    connection.current = next
    // Gives other connections their turn.
    setImmediate(() => {
      if (socket.writable) this.#begin(connection, next)
    })
  }
}

/** While true, Node does not expect data until the client has read something. Not part of Node's documented API. */
const isPausedByNode = (socket: Socket) => (socket as unknown as { _paused?: boolean })._paused === true

/** Ends a connection that sent something other than a valid request, with a last response. For 'clientError'. */
export function rejectConnection(socket: Socket, response: string): void {
  const connection = connections.get(socket)
  if (!connection) return void socket.destroy()
  // The client already has its response. It has closed its side in the middle of a body, or continues to send.
  if (connection.isLingering) return void socket.end()
  if (connection.lastResponse !== undefined) return
  if (!socket.writable) return void socket.destroy()
  connection.lastResponse = response
  const { current } = connection
  if (current && !isMalformed(connection, current)) return
  if (current?.response.headersSent) return void socket.destroy()
  connection.current = undefined
  sendLastResponse(connection)
}

/** Whether the invalid bytes are in the body of this request. Otherwise they come after it. */
const isMalformed = ({ lastResponse }: Connection, { request }: Exchange) =>
  lastResponse !== undefined && !request.complete

function sendLastResponse(connection: Connection): void {
  if (connection.lastResponse === undefined) return
  connection.socket.end(connection.lastResponse)
  linger(connection)
}

/** Reads and discards what the client still sends for a while, so that the client can read the response. */
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

const hasBody = ({ headers }: IncomingMessage) =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
