import { lookup } from 'node:dns/promises'
import { isIP, isIPv4, isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'

export type Reachable = {
  host: string
  /** If they are not those of the network interfaces. */
  addresses: string[]
  /** By which clients reach the service, if it is known. */
  publicHost: string | undefined
}

const lookupMs = 2_000

/** RFC 8445, 5.1.2.1: host candidates, the first one is preferred. */
const hostPreference = 126
const component = 1

type Ports = { udp: number; tcp: number | undefined }

/** Where encoders can send to, as in a session description. UDP is preferred. */
export async function writeCandidates(
  { host, addresses, publicHost }: Reachable,
  { udp, tcp }: Ports,
): Promise<string[]> {
  const found = [...ownAddresses(host), ...(isAny(host) ? await lookUp(publicHost) : [])]
  const listed = addresses.length > 0 ? addresses : [...new Set(found)]
  const paths = [
    ...listed.map((address) => ({ protocol: 'udp', address, port: udp, more: '' })),
    ...(tcp
      ? listed.map((address) => ({ protocol: 'tcp', address, port: tcp, more: ' tcptype passive' }))
      : []),
  ]
  return paths.map(({ protocol, address, port, more }, i) => {
    const priority = hostPreference * 2 ** 24 + (65_535 - i) * 2 ** 8 + (256 - component)
    return `${i + 1} ${component} ${protocol} ${priority} ${address} ${port} typ host${more}`
  })
}

function ownAddresses(host: string): string[] {
  if (!isAny(host)) return [isIP(host) ? host : '127.0.0.1']
  const found = Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .filter(({ internal }) => !internal)
    .map(({ address }) => address)
    .filter((address) => isIPv4(address) || (host === '::' && isIPv6(address) && !address.startsWith('fe80')))
  return found.length > 0 ? found : ['127.0.0.1']
}

const isAny = (host: string) => host === '0.0.0.0' || host === '::'

/** Behind NAT and in a container, the name leads to an address that the process does not know. */
async function lookUp(publicHost: string | undefined): Promise<string[]> {
  if (!publicHost) return []
  const timeout = new Promise<string[]>((resolve) => setTimeout(resolve, lookupMs, []).unref())
  const found = lookup(publicHost, { all: true }).then(
    (all) => all.map(({ address }) => address),
    () => [],
  )
  return Promise.race([found, timeout])
}
