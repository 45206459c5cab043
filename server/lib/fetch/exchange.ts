import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'
import { joinSmallChunks } from '../join-chunks.ts'
import { codeOf, FetchError, reasonOf } from './errors.ts'

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH'

export type GuardedResponse = {
  status: number
  headers: IncomingHttpHeaders
  /** The URL of the response, after redirects. */
  url: string
  /**
   * The bytes as received, never decompressed, buffered up to about 64 KiB. The caller reads it to its end, leaves it
   * with `break`, or cancels the response. If nobody starts to read, it is canceled after the idle timeout.
   */
  body: AsyncIterable<Buffer>
  /** Closes the connection. */
  cancel(): void
}

export type Message = {
  method: Method
  headers: Record<string, string>
  body: Buffer | undefined
  headersTimeoutMs: number
  idleTimeoutMs: number
}

/** Node's default. Explicit, because --max-http-header-size would change it for the process. */
const maxHeaderBytes = 16 * 1024

/** Sends one request on a connection that is used for nothing else, and receives the response. */
export function exchange(
  socket: Socket,
  url: URL,
  message: Message,
  signal: AbortSignal,
): Promise<GuardedResponse> {
  return new Promise((resolve, reject) => {
    // Keeps the first error, which the body throws as well.
    const failed = new AbortController()
    const fail = (error: Error) => {
      failed.abort(error)
      socket.destroy()
      reject(failed.signal.reason)
    }
    const abort = () => fail(reasonOf(signal))
    if (signal.aborted) return abort()
    if (socket.destroyed) return fail(droppedError(url))
    signal.addEventListener('abort', abort, { once: true })

    const headersTimer = setTimeout(
      () => fail(new FetchError('timeout', `${url.hostname} did not respond in time.`)),
      message.headersTimeoutMs,
    )
    socket.once('close', () => {
      clearTimeout(headersTimer)
      signal.removeEventListener('abort', abort)
      fail(droppedError(url))
    })

    let outgoing: ClientRequest
    try {
      outgoing = request({
        method: message.method,
        path: url.pathname + url.search,
        headers: message.headers,
        // Without an agent, neither a connection pool nor a proxy from the environment is used.
        createConnection: () => socket,
        maxHeaderSize: maxHeaderBytes,
        insecureHTTPParser: false,
      })
    } catch (error) {
      return fail(error instanceof Error ? error : new Error('cannot create the request', { cause: error }))
    }
    outgoing.on('error', (error) => fail(toFetchError(url, error)))
    outgoing.on('upgrade', () => fail(protocolError(url, 'switched to a protocol that was not requested')))
    outgoing.on('response', (incoming) => {
      clearTimeout(headersTimer)
      joinSmallChunks(incoming)
      incoming.on('error', (error) => fail(toFetchError(url, error)))
      const unsupported = findUnsupportedEncoding(url, message.method, incoming)
      if (unsupported) return fail(unsupported)
      resolve({
        status: incoming.statusCode!,
        headers: incoming.headers,
        url: url.href,
        body: readBody(url, incoming, message.idleTimeoutMs, failed.signal, fail),
        cancel: () => fail(new DOMException('The response was canceled.', 'AbortError')),
      })
      if (message.method === 'HEAD') incoming.resume()
    })
    outgoing.end(message.body)
  })
}

function readBody(
  url: URL,
  incoming: IncomingMessage,
  idleTimeoutMs: number,
  failed: AbortSignal,
  fail: (error: Error) => void,
): AsyncIterable<Buffer> {
  let idleTimer: NodeJS.Timeout | undefined
  const startTimer = () => {
    idleTimer = setTimeout(
      () => fail(new FetchError('timeout', `${url.hostname} stopped sending.`)),
      idleTimeoutMs,
    )
  }
  startTimer()
  incoming.socket.once('close', () => clearTimeout(idleTimer))
  return (async function* () {
    try {
      clearTimeout(idleTimer)
      startTimer()
      for await (const chunk of incoming) {
        // While the reader handles a chunk, the server is not idle.
        clearTimeout(idleTimer)
        yield chunk as Buffer
        startTimer()
      }
    } catch (error) {
      throw failed.aborted ? failed.reason : error
    } finally {
      clearTimeout(idleTimer)
      incoming.destroy()
    }
  })()
}

/** Returns an error if the response is encoded in a way that was not requested. */
function findUnsupportedEncoding(
  url: URL,
  method: Method,
  incoming: IncomingMessage,
): FetchError | undefined {
  const { 'content-encoding': coding = '', 'transfer-encoding': transfer = '' } = incoming.headers
  if (transfer && transfer.toLowerCase() !== 'chunked') {
    return protocolError(url, `sent a transfer encoding that was not requested (${transfer.slice(0, 40)})`)
  }
  // Only the status of an error response, or of a response to a POST, is used. Their bodies may be compressed.
  const isContent = method !== 'POST' && incoming.statusCode! >= 200 && incoming.statusCode! < 300
  if (isContent && coding && coding.toLowerCase() !== 'identity') {
    return protocolError(url, `sent compressed content (${coding.slice(0, 40)}), which was not requested`)
  }
  return undefined
}

function toFetchError(url: URL, error: Error): Error {
  if (error instanceof FetchError) return error
  const code = codeOf(error)
  if (code === 'HPE_HEADER_OVERFLOW') {
    return protocolError(url, `sent more than ${maxHeaderBytes} bytes of headers`, error)
  }
  if (code.startsWith('HPE_')) return protocolError(url, 'sent an invalid HTTP response', error)
  return droppedError(url, error)
}

const protocolError = (url: URL, what: string, cause?: unknown) =>
  new FetchError('protocol', `${url.hostname} ${what}.`, { cause })

const droppedError = (url: URL, cause?: unknown) =>
  new FetchError('dropped', `${url.hostname} closed the connection too early.`, { cause })
