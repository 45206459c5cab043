import { isIP, isIPv4, isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'

type Options = { host: string; addresses: string[]; port: number }

/** RFC 8445, 5.1.2.1: host candidates, the first one is preferred. */
const hostPreference = 126
const component = 1

/** Where encoders can send to, as in a session description. */
export function writeCandidates({ host, addresses, port }: Options): string[] {
  const listed = addresses.length > 0 ? addresses : ownAddresses(host)
  return listed.map((address, i) => {
    const priority = hostPreference * 2 ** 24 + (65_535 - i) * 2 ** 8 + (256 - component)
    return `${i + 1} ${component} udp ${priority} ${address} ${port} typ host`
  })
}

function ownAddresses(host: string): string[] {
  const isAny = host === '0.0.0.0' || host === '::'
  if (!isAny) return [isIP(host) ? host : '127.0.0.1']
  const found = Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .filter(({ internal }) => !internal)
    .map(({ address }) => address)
    .filter((address) => isIPv4(address) || (host === '::' && isIPv6(address) && !address.startsWith('fe80')))
  return found.length > 0 ? found : ['127.0.0.1']
}
