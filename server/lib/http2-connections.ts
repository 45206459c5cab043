import { type IncomingMessage, METHODS, type RequestListener, type ServerResponse } from 'node:http'
import { constants, type SecureServerOptions, type ServerHttp2Session } from 'node:http2'
import type { Socket } from 'node:net'
import type { ConnectionLimits } from './connection-limits.ts'
import { Http2Request, Http2Response } from './http2-messages.ts'
import { joinSmallChunks } from './join-chunks.ts'

/** The least that RFC 9113 (6.5.2) recommends. */
const maxStreams = 100
/** As over HTTP/1. */
const maxHeaderBytes = 16 * 1024
/**
 * How much of a body a client may send before the server has read it, which is also how much it can send per round trip:
 * at first, and in a connection that uploads. Every request of a connection could fill its window and not be read for a
 * while, so only clients that are allowed to upload get the larger one.
 */
const windowBytes = 64 * 1024
const uploadWindowBytes = 4 * 1024 * 1024
/** The server reads so much only of requests that it has authorized. */
const authorizedBytes = 128 * 1024
/** The window of all requests together. Node reads it out at once, so it does not limit the memory. */
const connectionWindowBytes = 16 * 1024 * 1024

export const http2Options: SecureServerOptions = {
  settings: {
    maxConcurrentStreams: maxStreams,
    maxHeaderListSize: maxHeaderBytes,
    initialWindowSize: windowBytes,
  },
  // In practice, no limit. Node counts what waits to be sent, but does not subtract what a client has cancelled, so a
  // viewer who seeks a hundred times would be refused. Each response queues little, and there are few at a time.
  maxSessionMemory: 1_000_000,
  Http2ServerRequest: Http2Request as never,
  Http2ServerResponse: Http2Response as never,
}

/** Over HTTP/1, Node rejects all others. Fastify takes them for a bug of its own and logs its routes. */
const knownMethods = new Set(METHODS)

type Exchange = {
  request: Http2Request
  response: Http2Response
  /** State of the checks. */
  sent: number
  stalledChecks: number
  received: number
  slowChecks: number
  lingerChecks: number
}

type Connection = {
  session: ServerHttp2Session
  /** To destroy the session is not enough: that waits for a client that does not read. */
  socket: Socket
  exchanges: Set<Exchange>
  hasUploaded: boolean
  /** Checks without a request. */
  idleChecks: number
}

type Limits = Omit<ConnectionLimits, 'checkMs' | 'headersMs' | 'maxWaiting'>

/** The connections over HTTP/2. Each of their requests has the limits that a connection over HTTP/1 has. */
export class Http2Connections {
  readonly #handler: RequestListener
  readonly #limits: Limits
  readonly #open = new Map<ServerHttp2Session, Connection>()

  constructor(handler: RequestListener, limits: Limits) {
    this.#handler = handler
    this.#limits = limits
  }

  accept(session: ServerHttp2Session, socket: Socket): void {
    if (session.destroyed) return void socket.destroy()
    session.setLocalWindowSize(connectionWindowBytes)
    this.#open.set(session, { session, socket, exchanges: new Set(), hasUploaded: false, idleChecks: 0 })
    socket.once('close', () => this.#open.delete(session))
  }

  dispatch(request: Http2Request, response: Http2Response): void {
    const { stream } = request
    const connection = stream.session && this.#open.get(stream.session as ServerHttp2Session)
    // The client may have reset the stream since the headers arrived. There would be no event for the handler.
    if (!connection || stream.destroyed) return
    const exchange = { ...newChecks, request, response }
    connection.exchanges.add(exchange)
    connection.idleChecks = 0
    stream.once('close', () => connection.exchanges.delete(exchange))
    if (!stream.endAfterHeaders) receiveBody(connection, request, response)
    if (!knownMethods.has(request.method)) return void response.writeHead(501).end()
    if (headerBytes(request) > maxHeaderBytes) return void response.writeHead(431).end()
    this.#handler(request as unknown as IncomingMessage, response as unknown as ServerResponse)
  }

  /** To be called once in each interval. */
  check(): void {
    for (const connection of this.#open.values()) {
      const { session, socket, exchanges } = connection
      for (const exchange of exchanges) checkExchange(exchange, this.#limits)
      if (exchanges.size > 0) continue
      connection.idleChecks++
      const isEnding = session.closed || session.destroyed
      if (isEnding && connection.idleChecks >= this.#limits.slowChecks) socket.destroy()
      else if (!isEnding && connection.idleChecks >= this.#limits.idleChecks) {
        session.close()
        connection.idleChecks = 0
      }
    }
  }

  /** The clients open other connections for their next requests. */
  leave(): void {
    for (const { session } of this.#open.values()) if (!session.destroyed) session.close()
  }

  closeAll(): void {
    for (const { socket } of this.#open.values()) socket.destroy()
  }
}

const newChecks = { sent: 0, stalledChecks: 0, received: 0, slowChecks: 0, lingerChecks: 0 }

/** Node enforces the setting only after the client has acknowledged it, and a client may never do so. */
const headerBytes = ({ rawHeaders }: Http2Request) => rawHeaders.reduce((sum, { length }) => sum + length, 0)

function receiveBody(connection: Connection, request: Http2Request, response: Http2Response): void {
  const { stream, method } = request
  joinSmallChunks(stream)
  // Nobody reads it.
  if (method === 'GET' || method === 'HEAD') return void request.resume()
  if (connection.hasUploaded) return
  // A listener for 'data' would discard the body until the handler reads it.
  request.onReceived = () => {
    if (request.receivedBytes < authorizedBytes || response.writableEnded) return
    request.onReceived = undefined
    if (connection.hasUploaded || connection.session.destroyed) return
    connection.hasUploaded = true
    connection.session.settings({ initialWindowSize: uploadWindowBytes })
  }
}

function checkExchange(exchange: Exchange, limits: Limits): void {
  const { request, response } = exchange
  const { stream } = request
  const isStalled = stream.writableLength > 0 && response.sentBytes === exchange.sent
  exchange.sent = response.sentBytes
  exchange.stalledChecks = isStalled ? exchange.stalledChecks + 1 : 0
  if (exchange.stalledChecks >= limits.stalledChecks) {
    stream.close(constants.NGHTTP2_CANCEL)
    return void stream.destroy()
  }
  if (!response.writableEnded || request.complete || isStalled) return
  const isSlow = request.receivedBytes - exchange.received < limits.minBytes
  exchange.received = request.receivedBytes
  exchange.slowChecks = isSlow ? exchange.slowChecks + 1 : 0
  exchange.lingerChecks++
  if (exchange.slowChecks < limits.slowChecks && exchange.lingerChecks < limits.lingerChecks) return
  // Asks the client to stop sending. It has its response (RFC 9113, 8.1).
  stream.close(constants.NGHTTP2_NO_ERROR)
  stream.destroy()
}
