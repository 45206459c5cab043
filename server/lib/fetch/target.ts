import { BlockList, isIP, isIPv4 } from 'node:net'
import { UrlNotAllowedError } from './errors.ts'
import { blockedIpv4, blockedIpv6, blockedPorts, globalIpv6, ipv4Prefixes, type Range } from './ip-ranges.ts'

const maxUrlLength = 8192

const blockedV4 = blockListOf(blockedIpv4, 'ipv4')
const globalV6 = blockListOf([globalIpv6], 'ipv6')
const blockedV6 = blockListOf(blockedIpv6, 'ipv6')
const ipv4Carriers = blockListOf(
  ipv4Prefixes.map(([prefix, bits, what]) => [`${prefix}0.0.0.0`, bits, what]),
  'ipv6',
)
const blockedCarried = blockListOf(
  ipv4Prefixes.flatMap(([prefix, bits]) =>
    blockedIpv4.map(([network, more, what]): Range => [`${prefix}${network}`, bits + more, what]),
  ),
  'ipv6',
)

function blockListOf(ranges: readonly Range[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const [network, prefixBits] of ranges) list.addSubnet(network, prefixBits, family)
  return list
}

/** Whether the text is an IP address of the public internet. False for anything else. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !blockedV4.check(address, 'ipv4')
  // An address with a zone (fe80::1%eth0) belongs to a link of this machine.
  if (isIP(address) !== 6 || address.includes('%')) return false
  if (ipv4Carriers.check(address, 'ipv6')) return !blockedCarried.check(address, 'ipv6')
  return globalV6.check(address, 'ipv6') && !blockedV6.check(address, 'ipv6')
}

/** The host as used by resolvers and certificates: IPv6 without brackets. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, '$1')

export const privateNetworkError = (host: string) =>
  new UrlNotAllowedError(`${host} is in a private or reserved network, which is not allowed.`)

/**
 * All checks of a URL that need no network. URL parses decimal, octal, hexadecimal, short and full-width notations of an
 * IP address to the same text.
 */
export function parseTarget(text: string, options: { allowPrivateNetworks: boolean; base?: URL }): URL {
  if (text.length > maxUrlLength) {
    throw new UrlNotAllowedError(`The URL is longer than ${maxUrlLength} characters.`)
  }
  const url = URL.parse(text, options.base?.href)
  if (!url) throw new UrlNotAllowedError('This is not a valid URL.')
  const scheme = url.protocol.slice(0, -1)
  if (scheme !== 'http' && scheme !== 'https') {
    throw new UrlNotAllowedError(`The URL must begin with http:// or https://, not with ${scheme}:`)
  }
  if (url.port !== '' && blockedPorts.has(Number(url.port))) {
    throw new UrlNotAllowedError(`Port ${url.port} belongs to a protocol other than HTTP and is not allowed.`)
  }
  checkHost(url, options.allowPrivateNetworks)
  return url
}

/** The checks that do not depend on the protocol. The hostname of the URL has to be normalized. */
export function checkHost(url: URL, isPrivateAllowed: boolean): void {
  // Ignoring them would cause a 401 that is hard to understand, and they would be visible wherever the URL is shown.
  if (url.username || url.password) {
    throw new UrlNotAllowedError('The URL must not contain a user name or password.')
  }
  const host = hostOf(url)
  if (isIP(host) && !isPrivateAllowed && !isPublicAddress(host)) throw privateNetworkError(host)
}
