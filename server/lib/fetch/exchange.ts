import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import type { Socket } from 'node:net'
import { joinSmallChunks } from '../join-chunks.ts'
import { codeOf, FetchFailed, reasonOf } from './errors.ts'

export type Method = 'GET' | 'HEAD' | 'POST'

export type GuardedResponse = {
  status: number
  headers: IncomingHttpHeaders
  /** Where the answer came from, after redirects. */
  url: string
  /**
   * Bytes as they come, never decompressed, no more than about 64 KiB ahead of the reader. To be read to its end
   * or left by `break`, or else cancelled; one that nobody begins to read is cancelled after the idle time.
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

/** Node's default, fixed here because --max-http-header-size would change it for the whole process. */
const maxHeaderBytes = 16 * 1024

/** One request and its answer on a connection that serves nothing else. */
export function exchange(
  socket: Socket,
  url: URL,
  message: Message,
  signal: AbortSignal,
): Promise<GuardedResponse> {
  return new Promise((resolve, reject) => {
    const state: { failure?: Error } = {}
    const fail = (error: Error) => {
      state.failure ??= error
      socket.destroy()
      reject(state.failure)
    }
    const abort = () => fail(reasonOf(signal))
    if (signal.aborted) return abort()
    if (socket.destroyed) return fail(dropped(url))
    signal.addEventListener('abort', abort, { once: true })

    const headersTimer = setTimeout(
      () => fail(new FetchFailed('timeout', `${url.hostname} did not answer in time.`)),
      message.headersTimeoutMs,
    )
    socket.once('close', () => {
      clearTimeout(headersTimer)
      signal.removeEventListener('abort', abort)
      fail(dropped(url))
    })

    let outgoing: ClientRequest
    try {
      outgoing = request({
        method: message.method,
        path: url.pathname + url.search,
        headers: message.headers,
        // Without an agent there is neither a pool nor a proxy from the environment.
        createConnection: () => socket,
        maxHeaderSize: maxHeaderBytes,
        insecureHTTPParser: false,
      })
    } catch (error) {
      return fail(error instanceof Error ? error : new Error('not a request', { cause: error }))
    }
    outgoing.on('error', (error) => fail(toFailure(url, error)))
    outgoing.on('upgrade', () => fail(protocol(url, 'switched to a protocol that was not asked for')))
    outgoing.on('response', (incoming) => {
      clearTimeout(headersTimer)
      joinSmallChunks(incoming)
      incoming.on('error', (error) => fail(toFailure(url, error)))
      const refusal = refusalOf(url, message.method, incoming)
      if (refusal) return fail(refusal)
      resolve({
        status: incoming.statusCode!,
        headers: incoming.headers,
        url: url.href,
        body: readBody(url, incoming, message.idleTimeoutMs, state, fail),
        cancel: () => fail(new DOMException('The response was cancelled.', 'AbortError')),
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
  state: { failure?: Error },
  fail: (error: Error) => void,
): AsyncIterable<Buffer> {
  let silence: NodeJS.Timeout | undefined
  const listen = () => {
    silence = setTimeout(
      () => fail(new FetchFailed('timeout', `${url.hostname} stopped sending.`)),
      idleTimeoutMs,
    )
  }
  listen()
  incoming.socket.once('close', () => clearTimeout(silence))
  return (async function* () {
    try {
      clearTimeout(silence)
      listen()
      for await (const chunk of incoming) {
        // While the reader has its chunk the silence is ours, not the server's.
        clearTimeout(silence)
        yield chunk as Buffer
        listen()
      }
    } catch (error) {
      throw state.failure ?? error
    } finally {
      clearTimeout(silence)
      incoming.destroy()
    }
  })()
}

/** Reasons not to read an answer whose headers are well-formed. */
function refusalOf(url: URL, method: Method, incoming: IncomingMessage): FetchFailed | undefined {
  const { 'content-encoding': coding = '', 'transfer-encoding': transfer = '' } = incoming.headers
  if (transfer && transfer.toLowerCase() !== 'chunked') {
    return protocol(url, `sent a transfer coding that was not asked for (${transfer.slice(0, 40)})`)
  }
  // What went wrong is told by the status of a failed answer, and by that of a POST; neither is read for its content.
  const isContent = method !== 'POST' && incoming.statusCode! >= 200 && incoming.statusCode! < 300
  if (isContent && coding && coding.toLowerCase() !== 'identity') {
    return protocol(url, `sent compressed content (${coding.slice(0, 40)}) although it was asked not to`)
  }
  return undefined
}

function toFailure(url: URL, error: Error): Error {
  if (error instanceof FetchFailed) return error
  const code = codeOf(error)
  if (code === 'HPE_HEADER_OVERFLOW') {
    return protocol(url, `sent more than ${maxHeaderBytes} bytes of headers`, error)
  }
  if (code.startsWith('HPE_')) return protocol(url, 'sent something that is not HTTP', error)
  return dropped(url, error)
}

const protocol = (url: URL, what: string, cause?: unknown) =>
  new FetchFailed('protocol', `${url.hostname} ${what}.`, { cause })

const dropped = (url: URL, cause?: unknown) =>
  new FetchFailed('dropped', `${url.hostname} closed the connection too early.`, { cause })
