import type { LookupAddress } from 'node:dns'
import { isIP, isIPv6, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { codeOf, FetchFailed, reasonOf } from './errors.ts'
import { hostOf, isPublicAddress, privateNetwork } from './target.ts'

/** The part of `dns.lookup` that is used. */
export type Lookup = (
  host: string,
  options: { all: true },
  callback: (error: NodeJS.ErrnoException | null, answers: LookupAddress[]) => void,
) => void

/** Begins a TCP connection to an IP address. */
export type Connect = (address: string, port: number) => Socket

export type DialOptions = { allowPrivateNetworks: boolean; lookup: Lookup; connect: Connect }

/** Far more than honest names have; a name with a thousand answers shall not make us knock at all of them. */
const mostAddresses = 6
/** Between one attempt and the next, as RFC 8305 advises. */
const staggerMs = 250

/**
 * Opens a connection that a request can be written to. The name is resolved once, every answer is checked, and
 * what is dialled is a checked answer, not the name: nothing below resolves again.
 */
export async function dial(url: URL, options: DialOptions, signal: AbortSignal): Promise<Socket> {
  const host = hostOf(url)
  const addresses = await resolve(host, options, signal)
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80)
  const socket = await connectAny(host, addresses, port, options.connect, signal)
  return url.protocol === 'https:' ? secure(socket, host, signal) : socket
}

async function resolve(host: string, options: DialOptions, signal: AbortSignal): Promise<string[]> {
  const answers = isIP(host) ? [host] : await lookUp(host, options.lookup, signal)
  // One bad answer refuses the name. Dialling the rest would be as safe, but then the order of answers decides
  // whether it works, and a public name that also leads inside is an attack or a mistake worth hearing of.
  const isAllowed = options.allowPrivateNetworks ? isIP : isPublicAddress
  if (!answers.every((each) => isAllowed(each))) throw privateNetwork(host)
  return alternateFamilies(answers).slice(0, mostAddresses)
}

function lookUp(host: string, lookup: Lookup, signal: AbortSignal): Promise<string[]> {
  return new Promise((done, reject) => {
    // A look-up cannot be stopped; its answer is then ignored.
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

/** ENOTFOUND is the name server's word that there is no such name; the rest may pass. */
const unresolved = (host: string, cause: unknown) =>
  new FetchFailed('unreachable', `The name ${host} could not be resolved.`, {
    cause,
    isRetryable: codeOf(cause) !== 'ENOTFOUND',
  })

/** So that a dead IPv6 route costs one stagger, not one for each IPv6 address. */
function alternateFamilies(addresses: string[]): string[] {
  const first = addresses.filter((each) => isIPv6(each) === isIPv6(addresses[0]!))
  const second = addresses.filter((each) => !first.includes(each))
  return addresses.flatMap((_, i) => [...first.slice(i, i + 1), ...second.slice(i, i + 1)])
}

/**
 * The first of several addresses that answers. Node's own autoSelectFamily is not used: it gives up an attempt
 * when it begins the next, so that a host more than 250 ms away with a dead second address is never reached.
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

    const settle = (winner?: Socket) => {
      clearTimeout(stagger)
      waiting.length = 0
      signal.removeEventListener('abort', abort)
      for (const each of attempts) if (each !== winner) each.destroy()
    }
    const abort = () => {
      settle()
      reject(reasonOf(signal))
    }
    const attempt = () => {
      clearTimeout(stagger)
      const address = waiting.shift()
      if (address === undefined) return
      const socket = connect(address, port)
      attempts.add(socket)
      socket.on('error', (error) => {
        // Stays for the socket's whole life: between two owners an error would otherwise end the process.
        if (!attempts.delete(socket)) return
        if (waiting.length > 0) attempt()
        else if (attempts.size === 0) {
          settle()
          reject(new FetchFailed('unreachable', `No connection to ${host} could be made.`, { cause: error }))
        }
      })
      socket.once('connect', () => {
        settle(socket)
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

function secure(raw: Socket, host: string, signal: AbortSignal): Promise<TLSSocket> {
  return new Promise((done, reject) => {
    const name = host.replace(/\.$/, '')
    const socket = connectTls({
      socket: raw,
      host: name,
      // Server names are not for IP addresses (RFC 6066); `host` above is what the certificate is compared with.
      servername: isIP(name) ? '' : name,
      ALPNProtocols: ['http/1.1'],
      // Said aloud, so that NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment changes nothing here.
      rejectUnauthorized: true,
    })
    const abort = () => {
      socket.destroy()
      reject(reasonOf(signal))
    }
    const settle = () => signal.removeEventListener('abort', abort)
    signal.addEventListener('abort', abort, { once: true })
    socket.once('secureConnect', () => {
      settle()
      done(socket)
    })
    socket.on('error', (cause) => {
      settle()
      reject(insecure(host, cause))
    })
    if (signal.aborted) abort()
  })
}

function insecure(host: string, cause: Error): FetchFailed {
  if (['ECONNRESET', 'EPIPE', 'ETIMEDOUT'].includes(codeOf(cause))) {
    return new FetchFailed('dropped', `${host} closed the connection while it was being secured.`, { cause })
  }
  // OpenSSL's own messages hold source paths and several lines; the codes are short and known to search engines.
  const code = codeOf(cause)
  return new FetchFailed('tls', `No secure connection to ${host} could be made${code && ` (${code})`}.`, {
    cause,
  })
}
