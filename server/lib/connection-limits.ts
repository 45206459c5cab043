import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Connections are checked at intervals, and their limits are counted in checks instead of seconds. After a pause of the
 * process, the next check runs only after all received bytes were read, so a busy machine does not disconnect clients.
 */
export type ConnectionLimits = {
  checkMs: number
  /** How long the headers of a request, or a TLS handshake, may take. */
  headersMs: number
  /** Checks without progress after which a client that does not read its response is disconnected. */
  stalledChecks: number
  /** After the response: consecutive checks in which the rest of the request body may be slow. */
  slowChecks: number
  /** A rest of a body that arrives faster than this in each check is not slow. */
  minBytes: number
  /** After the response: checks until the rest of the request body must have arrived. */
  lingerChecks: number
  /** Over HTTP/2: checks without a request after which a connection ends. */
  idleChecks: number
  /** Requests of all connections that wait for the response to an earlier request on the same connection. */
  maxWaiting: number
}

export const defaultLimits: ConnectionLimits = {
  checkMs: 5_000,
  headersMs: 60_000,
  // Five minutes. The systems on both sides buffer megabytes and accept more only after a third of them was read. A
  // client that reads 10 KB per second shows no progress for more than two minutes.
  stalledChecks: 60,
  slowChecks: 2,
  minBytes: 32 * 1024,
  lingerChecks: 60,
  // At least as long as over HTTP/1, where Node has a time limit.
  idleChecks: 15,
  maxWaiting: 10_000,
}

export type Exchange = { request: IncomingMessage; response: ServerResponse }

export type Connection = {
  socket: Socket
  /** The request that is being handled. */
  current: Exchange | undefined
  /** Pipelined requests behind it. */
  waiting: Exchange[]
  /** Nothing is read while requests wait. */
  isPaused: boolean
  /** Sent after the responses to all complete requests. */
  lastResponse: string | undefined
  /** The response was sent, or our side is closed, and the body of the request still arrives. */
  isLingering: boolean
  /** State of the checks. */
  written: number
  stalledChecks: number
  read: number
  slowChecks: number
  lingerChecks: number
}

export const newConnection = (socket: Socket): Connection => ({
  socket,
  current: undefined,
  waiting: [],
  isPaused: false,
  lastResponse: undefined,
  isLingering: false,
  written: 0,
  stalledChecks: 0,
  read: 0,
  slowChecks: 0,
  lingerChecks: 0,
})

/** Checks a connection. To be called once in each interval. */
export function exceedsLimits(
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
 * The bytes that the system has accepted. It accepts a long buffer in parts, which only the length of the write queue
 * shows. The queue is not part of Node's documented API.
 */
function writtenBytes(socket: Socket): number {
  const handle = (socket as unknown as { _handle?: { writeQueueSize?: number } | null })._handle
  return socket.bytesWritten - (handle?.writeQueueSize ?? 0)
}
