import { BlockList, isIP, isIPv4 } from 'node:net'
import { AddressRefused } from './errors.ts'
import { globalIpv6, ipv4Prefixes, type Range, refusedIpv4, refusedIpv6, refusedPorts } from './ranges.ts'

const longestUrl = 8192

const refused = blockListOf(refusedIpv4, 'ipv4')
const globalOnes = blockListOf([globalIpv6], 'ipv6')
const refusedGlobalOnes = blockListOf(refusedIpv6, 'ipv6')
const carriers = blockListOf(
  ipv4Prefixes.map(([prefix, bits, what]) => [`${prefix}0.0.0.0`, bits, what]),
  'ipv6',
)
const refusedCarried = blockListOf(
  ipv4Prefixes.flatMap(([prefix, bits]) =>
    refusedIpv4.map(([network, more, what]): Range => [`${prefix}${network}`, bits + more, what]),
  ),
  'ipv6',
)

function blockListOf(ranges: readonly Range[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const [network, prefixBits] of ranges) list.addSubnet(network, prefixBits, family)
  return list
}

/** Whether the text is an IP address of the public internet; false for all that is not understood. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !refused.check(address, 'ipv4')
  // A zone (fe80::1%eth0) belongs to a link of this machine, whatever stands before it.
  if (isIP(address) !== 6 || address.includes('%')) return false
  if (carriers.check(address, 'ipv6')) return !refusedCarried.check(address, 'ipv6')
  return globalOnes.check(address, 'ipv6') && !refusedGlobalOnes.check(address, 'ipv6')
}

/** The host as a resolver and a certificate know it: IPv6 without its brackets. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, '$1')

export const privateNetwork = (host: string) =>
  new AddressRefused(`${host} is in a private or reserved network, which is not allowed.`)

/**
 * Everything that can be told of an address without asking the network. Decimal, octal, hexadecimal, short and
 * full-width notations of an IP address are one and the same after URL has parsed them.
 */
export function parseTarget(text: string, options: { allowPrivateNetworks: boolean; base?: URL }): URL {
  if (text.length > longestUrl) {
    throw new AddressRefused(`The address is longer than ${longestUrl} characters.`)
  }
  const url = URL.parse(text, options.base?.href)
  if (!url) throw new AddressRefused('The address is not a valid URL.')
  const scheme = url.protocol.slice(0, -1)
  if (scheme !== 'http' && scheme !== 'https') {
    throw new AddressRefused(`The address must begin with http:// or https://, not with ${scheme}:`)
  }
  // Dropping them would end in a 401 that nobody understands, and they would be shown wherever the address is.
  if (url.username || url.password) {
    throw new AddressRefused('The address must not hold a user name or password.')
  }
  if (url.port !== '' && refusedPorts.has(Number(url.port))) {
    throw new AddressRefused(`Port ${url.port} belongs to a protocol other than HTTP and is not allowed.`)
  }
  const host = hostOf(url)
  if (isIP(host) && !options.allowPrivateNetworks && !isPublicAddress(host)) throw privateNetwork(host)
  return url
}
