import type { LookupAddress } from 'node:dns'
import { isIP, isIPv6, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { codeOf, FetchError, reasonOf } from './errors.ts'
import { hostOf, isPublicAddress, privateNetworkError } from './target.ts'

/** The signature of `dns.lookup` that is used. */
export type Lookup = (
  host: string,
  options: { all: true },
  callback: (error: NodeJS.ErrnoException | null, answers: LookupAddress[]) => void,
) => void

/** Opens a TCP connection to an IP address. */
export type Connect = (address: string, port: number) => Socket

export type DialOptions = { allowPrivateNetworks: boolean; lookup: Lookup; connect: Connect }

/** More than legitimate names have. A name with a thousand addresses must not cause a thousand connections. */
const maxAddresses = 6
/** Time between two connection attempts, as recommended by RFC 8305. */
const staggerMs = 250

const protocols = {
  'http:': { port: 80, isSecure: false, alpn: [] },
  'https:': { port: 443, isSecure: true, alpn: ['http/1.1'] },
  'rtmp:': { port: 1935, isSecure: false, alpn: [] },
  'rtmps:': { port: 443, isSecure: true, alpn: [] },
} as const

/**
 * Opens a connection for a URL that was checked. The name is resolved once, every IP address is checked, and the connection is opened
 * to a checked IP address instead of the name, so that nothing resolves the name again.
 */
export async function dial(url: URL, options: DialOptions, signal: AbortSignal): Promise<Socket> {
  const host = hostOf(url)
  const addresses = await resolve(host, options, signal)
  const { port, isSecure, alpn } = protocols[url.protocol as keyof typeof protocols]
  const socket = await connectAny(host, addresses, Number(url.port) || port, options.connect, signal)
  return isSecure ? secure(socket, host, alpn, signal) : socket
}

async function resolve(host: string, options: DialOptions, signal: AbortSignal): Promise<string[]> {
  const answers = isIP(host) ? [host] : await lookUp(host, options.lookup, signal)
  // One forbidden address rejects the name. Using the others would be safe, but the result would depend on their order,
  // and a public name with a private address is an attack or a mistake that the user should know about.
  const isAllowed = options.allowPrivateNetworks ? isIP : isPublicAddress
  if (!answers.every((each) => isAllowed(each))) throw privateNetworkError(host)
  return alternateFamilies(answers).slice(0, maxAddresses)
}

function lookUp(host: string, lookup: Lookup, signal: AbortSignal): Promise<string[]> {
  return new Promise((done, reject) => {
    // A lookup cannot be canceled, so its result is ignored.
    const abort = () => reject(reasonOf(signal))
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort, { once: true })
    lookup(host, { all: true }, (error, answers) => {
      signal.removeEventListener('abort', abort)
      if (error || answers.length === 0) reject(unresolved(host, error))
      else done(answers.map((each) => each.address))
    })
  })
}

/** ENOTFOUND means that the name does not exist. Other errors are transient. */
const unresolved = (host: string, cause: unknown) =>
  new FetchError('unreachable', `The name ${host} could not be resolved.`, {
    cause,
    isRetryable: codeOf(cause) !== 'ENOTFOUND',
  })

/** A broken IPv6 route then costs one delay instead of one for each IPv6 address. */
function alternateFamilies(addresses: string[]): string[] {
  const first = addresses.filter((each) => isIPv6(each) === isIPv6(addresses[0]!))
  const second = addresses.filter((each) => !first.includes(each))
  return addresses.flatMap((_, i) => [...first.slice(i, i + 1), ...second.slice(i, i + 1)])
}

/**
 * Connects to the first address that responds. Node's autoSelectFamily is not used: it cancels an attempt when it starts
 * the next one, so it never reaches a host that is more than 250 ms away and has a dead second address.
 */
function connectAny(
  host: string,
  addresses: string[],
  port: number,
  connect: Connect,
  signal: AbortSignal,
): Promise<Socket> {
  return new Promise((done, reject) => {
    const waiting = [...addresses]
    const attempts = new Set<Socket>()
    let stagger: NodeJS.Timeout | undefined

    const cleanUp = (winner?: Socket) => {
      clearTimeout(stagger)
      waiting.length = 0
      signal.removeEventListener('abort', abort)
      for (const each of attempts) if (each !== winner) each.destroy()
    }
    const abort = () => {
      cleanUp()
      reject(reasonOf(signal))
    }
    const attempt = () => {
      clearTimeout(stagger)
      const address = waiting.shift()
      if (address === undefined) return
      const socket = connect(address, port)
      attempts.add(socket)
      socket.on('error', (error) => {
        // This listener is never removed. Without a listener, an error would end the process.
        if (!attempts.delete(socket)) return
        if (waiting.length > 0) attempt()
        else if (attempts.size === 0) {
          cleanUp()
          reject(new FetchError('unreachable', `No connection to ${host} could be made.`, { cause: error }))
        }
      })
      socket.once('connect', () => {
        cleanUp(socket)
        attempts.clear()
        done(socket)
      })
      if (waiting.length > 0) stagger = setTimeout(attempt, staggerMs)
    }

    if (signal.aborted) return reject(reasonOf(signal))
    signal.addEventListener('abort', abort, { once: true })
    attempt()
  })
}

function secure(raw: Socket, host: string, alpn: readonly string[], signal: AbortSignal): Promise<TLSSocket> {
  return new Promise((done, reject) => {
    const name = host.replace(/\.$/, '')
    const socket = connectTls({
      socket: raw,
      host: name,
      // A server name must not be an IP address (RFC 6066). The certificate is compared with `host` above.
      servername: isIP(name) ? '' : name,
      ...(alpn.length > 0 && { ALPNProtocols: [...alpn] }),
      // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment has no effect.
      rejectUnauthorized: true,
    })
    const abort = () => {
      socket.destroy()
      reject(reasonOf(signal))
    }
    const cleanUp = () => signal.removeEventListener('abort', abort)
    signal.addEventListener('abort', abort, { once: true })
    socket.once('secureConnect', () => {
      cleanUp()
      done(socket)
    })
    socket.on('error', (cause) => {
      cleanUp()
      reject(insecure(host, cause))
    })
    if (signal.aborted) abort()
  })
}

function insecure(host: string, cause: Error): FetchError {
  if (['ECONNRESET', 'EPIPE', 'ETIMEDOUT'].includes(codeOf(cause))) {
    return new FetchError('dropped', `${host} closed the connection during the TLS handshake.`, { cause })
  }
  // OpenSSL's messages have several lines and contain source paths. The codes are short and easy to search for.
  const code = codeOf(cause)
  return new FetchError('tls', `No secure connection to ${host} could be made${code && ` (${code})`}.`, {
    cause,
  })
}
