import { lookup as lookUpDns } from 'node:dns'
import { connect as connectTcp, type Socket } from 'node:net'
import { type Connect, type DialOptions, dial, type Lookup } from './dial.ts'
import { FetchError, reasonOf } from './errors.ts'
import { exchange, type GuardedResponse, type Message, type Method } from './exchange.ts'
import { shareLookups } from './shared-lookup.ts'
import { parseTarget } from './target.ts'

export type GuardedRequest = {
  method?: Method
  headers?: Record<string, string>
  body?: Buffer
  /** Ends the request, or the body of its response, with the signal's reason. */
  signal?: AbortSignal
  /** 0 returns a redirect as the response. */
  maxRedirects: number
  /** For each hop: lookup, connection and TLS handshake together. */
  connectTimeoutMs: number
  /** For each hop: from the connection to the last byte of the headers. */
  headersTimeoutMs: number
  /** How long a body may send nothing. */
  idleTimeoutMs: number
}

/** HTTP requests to URLs that users provide. Throws UrlNotAllowedError, FetchError, or the reason of the signal. */
export type GuardedFetch = {
  request(url: string, options: GuardedRequest): Promise<GuardedResponse>
  /** Ends all requests and waits for their connections to be closed. */
  close(): Promise<void>
}

export type GuardedFetchOptions = {
  allowPrivateNetworks: boolean
  userAgent: string
  lookup?: Lookup
  connect?: Connect
}

type Hop = { method: Method; url: URL; headers: Record<string, string>; body: Buffer | undefined }
type HopResult = { socket: Socket; response: GuardedResponse }

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
/** Not sent to another origin. */
const secretHeaders = ['authorization', 'cookie', 'proxy-authorization']

/**
 * Connections are not reused. Each request has its own lookup and its own checked IP address, and a POST is never lost
 * to a connection that the server was about to close.
 */
export const createGuardedFetch = (options: GuardedFetchOptions): GuardedFetch => new GuardedClient(options)

class GuardedClient implements GuardedFetch {
  readonly #options: GuardedFetchOptions
  readonly #dialOptions: DialOptions
  readonly #sockets = new Set<Socket>()
  readonly #running = new Set<AbortController>()
  #isClosed = false

  constructor(options: GuardedFetchOptions) {
    this.#options = options
    this.#dialOptions = {
      allowPrivateNetworks: options.allowPrivateNetworks,
      lookup: shareLookups(options.lookup ?? lookUpDns),
      connect: (address, port) => this.#connect(address, port),
    }
  }

  async request(text: string, request: GuardedRequest): Promise<GuardedResponse> {
    const { signal } = request
    signal?.throwIfAborted()
    if (this.#isClosed) throw new Error('The guarded client is closed.')
    const url = parseTarget(text, this.#options)
    const headers = Object.fromEntries(
      Object.entries(request.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
    )
    const hop: Hop = { method: request.method ?? 'GET', url, headers, body: request.body }

    // AbortSignal.any with a signal of the client would collect listeners for as long as the process runs.
    const stop = new AbortController()
    const abort = () => signal && stop.abort(reasonOf(signal))
    signal?.addEventListener('abort', abort, { once: true })
    this.#running.add(stop)
    const release = () => {
      signal?.removeEventListener('abort', abort)
      this.#running.delete(stop)
    }
    try {
      const { socket, response } = await this.#followRedirects(hop, request, stop.signal)
      if (socket.closed) release()
      else socket.once('close', release)
      return response
    } catch (error) {
      release()
      throw error
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const each of this.#running) each.abort(new DOMException('The client was closed.', 'AbortError'))
    const closed = [...this.#sockets].map((each) => new Promise((done) => each.once('close', done)))
    for (const each of this.#sockets) each.destroy()
    await Promise.all(closed)
  }

  async #followRedirects(first: Hop, request: GuardedRequest, stop: AbortSignal): Promise<HopResult> {
    let hop = first
    for (let followed = 0; ; followed++) {
      const result = await this.#send(hop, request, stop)
      const { status, headers, cancel } = result.response
      if (request.maxRedirects === 0 || !redirects.has(status) || !headers.location) return result
      cancel()
      if (followed === request.maxRedirects) throw tooManyRedirects(followed)
      hop = nextHop(hop, status, parseTarget(headers.location, { ...this.#options, base: hop.url }))
    }
  }

  async #send(hop: Hop, request: GuardedRequest, stop: AbortSignal): Promise<HopResult> {
    const socket = await this.#dialWithin(hop.url, request.connectTimeoutMs, stop)
    const message: Message = {
      method: hop.method,
      body: hop.body,
      headers: {
        accept: '*/*',
        'user-agent': this.#options.userAgent,
        ...hop.headers,
        host: hop.url.host,
        // A few kilobytes of gzip can expand to gigabytes.
        'accept-encoding': 'identity',
        connection: 'close',
        ...(hop.body && { 'content-length': String(hop.body.length) }),
      },
      headersTimeoutMs: request.headersTimeoutMs,
      idleTimeoutMs: request.idleTimeoutMs,
    }
    return { socket, response: await exchange(socket, hop.url, message, stop) }
  }

  async #dialWithin(url: URL, timeoutMs: number, stop: AbortSignal): Promise<Socket> {
    const timeout = new AbortController()
    const timer = setTimeout(() => {
      timeout.abort(new FetchError('timeout', `${url.hostname} could not be reached in time.`))
    }, timeoutMs)
    try {
      return await dial(url, this.#dialOptions, AbortSignal.any([timeout.signal, stop]))
    } finally {
      clearTimeout(timer)
    }
  }

  #connect(address: string, port: number): Socket {
    const connect = this.#options.connect ?? connectDirectly
    const socket = connect(address, port)
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    return socket
  }
}

const connectDirectly: Connect = (host, port) => connectTcp({ host, port, noDelay: true })

const tooManyRedirects = (count: number) =>
  new FetchError('too-many-redirects', `The URL redirects more than ${count} times.`)

/** The request that follows a redirect. Throws if the body would be sent unencrypted. */
function nextHop(hop: Hop, status: number, url: URL): Hop {
  const next = { ...hop, url, headers: { ...hop.headers } }
  if (hop.method === 'POST' && (status === 301 || status === 302 || status === 303)) {
    next.method = 'GET'
    next.body = undefined
    delete next.headers['content-type']
  }
  if (url.origin !== hop.url.origin) for (const name of secretHeaders) delete next.headers[name]
  // From https to http, a GET reveals only the URL that the server itself has chosen, and users may provide http URLs
  // anyway. A body was meant for an encrypted connection.
  if (next.body && hop.url.protocol === 'https:' && url.protocol === 'http:') {
    throw new FetchError('protocol', `${hop.url.hostname} redirects from https to http.`)
  }
  return next
}
