import { lookup as lookUpDns } from 'node:dns'
import { connect as connectTcp, type Socket } from 'node:net'
import { type Connect, dial, type Lookup } from './dial.ts'
import { FetchFailed, reasonOf } from './errors.ts'
import { exchange, type GuardedResponse, type Message, type Method } from './exchange.ts'
import { shareLookups } from './shared-lookup.ts'
import { parseTarget } from './target.ts'

export type GuardedRequest = {
  method?: Method
  headers?: Record<string, string>
  body?: Buffer
  /** Ends the request, and the body of its answer, with the signal's reason. */
  signal?: AbortSignal
  /** 0 returns a redirect as the answer that it is. */
  maxRedirects: number
  /** For each hop: name, connection and TLS together. */
  connectTimeoutMs: number
  /** For each hop: from the connection to the last byte of the headers. */
  headersTimeoutMs: number
  /** How long a body may be silent. */
  idleTimeoutMs: number
}

/** HTTP to addresses that tenants name. Throws AddressRefused, FetchFailed, or the reason of the signal. */
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
type Answer = { socket: Socket; response: GuardedResponse }

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
/** Secrets are for the origin that they were given for. */
const secretHeaders = ['authorization', 'cookie', 'proxy-authorization']

/**
 * Connections are not reused. Each request then has its own look-up and its own checked address, and a POST is
 * never lost to a connection that the server was about to close.
 */
export function createGuardedFetch(options: GuardedFetchOptions): GuardedFetch {
  const sockets = new Set<Socket>()
  const running = new Set<AbortController>()
  let isClosed = false

  const connect = options.connect ?? ((host, port) => connectTcp({ host, port, noDelay: true }))
  const dialOptions = {
    allowPrivateNetworks: options.allowPrivateNetworks,
    lookup: shareLookups(options.lookup ?? lookUpDns),
    connect(address: string, port: number): Socket {
      const socket = connect(address, port)
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
      return socket
    },
  }

  async function dialInTime(url: URL, timeoutMs: number, stop: AbortSignal): Promise<Socket> {
    const late = new AbortController()
    const timer = setTimeout(() => {
      late.abort(new FetchFailed('timeout', `${url.hostname} could not be reached in time.`))
    }, timeoutMs)
    try {
      return await dial(url, dialOptions, AbortSignal.any([late.signal, stop]))
    } finally {
      clearTimeout(timer)
    }
  }

  async function send(hop: Hop, request: GuardedRequest, stop: AbortSignal): Promise<Answer> {
    const socket = await dialInTime(hop.url, request.connectTimeoutMs, stop)
    const message: Message = {
      method: hop.method,
      body: hop.body,
      headers: {
        accept: '*/*',
        'user-agent': options.userAgent,
        ...hop.headers,
        host: hop.url.host,
        // Some kilobytes of gzip can be gigabytes of zeros.
        'accept-encoding': 'identity',
        connection: 'close',
        ...(hop.body && { 'content-length': String(hop.body.length) }),
      },
      headersTimeoutMs: request.headersTimeoutMs,
      idleTimeoutMs: request.idleTimeoutMs,
    }
    return { socket, response: await exchange(socket, hop.url, message, stop) }
  }

  async function follow(first: Hop, request: GuardedRequest, stop: AbortSignal): Promise<Answer> {
    let hop = first
    for (let followed = 0; ; followed++) {
      const answer = await send(hop, request, stop)
      const { status, headers, cancel } = answer.response
      if (request.maxRedirects === 0 || !redirects.has(status) || !headers.location) return answer
      cancel()
      if (followed === request.maxRedirects) throw tooManyRedirects(followed)
      hop = nextHop(hop, status, parseTarget(headers.location, { ...options, base: hop.url }))
    }
  }

  return {
    async request(text, request) {
      const { signal } = request
      signal?.throwIfAborted()
      if (isClosed) throw new Error('The guarded client is closed.')
      const url = parseTarget(text, options)
      const headers = Object.fromEntries(
        Object.entries(request.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
      )
      const hop: Hop = { method: request.method ?? 'GET', url, headers, body: request.body }

      // Not AbortSignal.any with a signal of the client: that one would live as long as the process and collect.
      const stop = new AbortController()
      const abort = () => signal && stop.abort(reasonOf(signal))
      signal?.addEventListener('abort', abort, { once: true })
      running.add(stop)
      const release = () => {
        signal?.removeEventListener('abort', abort)
        running.delete(stop)
      }
      try {
        const { socket, response } = await follow(hop, request, stop.signal)
        if (socket.closed) release()
        else socket.once('close', release)
        return response
      } catch (error) {
        release()
        throw error
      }
    },

    async close() {
      isClosed = true
      for (const each of running) each.abort(new DOMException('The client was closed.', 'AbortError'))
      const closed = [...sockets].map((each) => new Promise((done) => each.once('close', done)))
      for (const each of sockets) each.destroy()
      await Promise.all(closed)
    },
  }
}

const tooManyRedirects = (count: number) =>
  new FetchFailed('too-many-redirects', `The address redirects more than ${count} times.`)

/** Throws when the redirect would carry something to where it must not go. */
function nextHop(hop: Hop, status: number, url: URL): Hop {
  const next = { ...hop, url, headers: { ...hop.headers } }
  if (hop.method === 'POST' && (status === 301 || status === 302 || status === 303)) {
    next.method = 'GET'
    next.body = undefined
    delete next.headers['content-type']
  }
  if (url.origin !== hop.url.origin) for (const name of secretHeaders) delete next.headers[name]
  // From https to http, a GET carries nothing but the address that the server itself has chosen, and tenants may
  // name http addresses anyway. A body is the caller's, and was meant for an encrypted way.
  if (next.body && hop.url.protocol === 'https:' && url.protocol === 'http:') {
    throw new FetchFailed('protocol', `${hop.url.hostname} redirects from https to http.`)
  }
  return next
}
