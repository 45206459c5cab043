import { isIPv4, isIPv6, SocketAddress } from 'node:net'

/**
 * The X-Forwarded-For header with each address in one spelling, because addresses are compared as text. The list ends,
 * seen from the nearest proxy, at the first entry that is no address: nobody knows what is behind it.
 */
export function normalizeForwardedFor(header: string): string {
  const addresses: string[] = []
  for (const entry of header.split(',').toReversed()) {
    if (entry.trim() === '') continue
    const address = readAddress(entry.trim())
    if (address === undefined) break
    addresses.unshift(address)
  }
  return addresses.join(', ')
}

/** Some proxies add the port, and brackets around IPv6. Undefined if it is no IP address. */
function readAddress(text: string): string | undefined {
  const [, inBrackets, withPort] = /^(?:\[([^\]]*)\](?::\d+)?|([\d.]+):\d+)$/.exec(text) ?? []
  // The zone, such as `%eth0`, has a meaning on the proxy only.
  const [address = ''] = (inBrackets ?? withPort ?? text).split('%')
  if (isIPv4(address)) return address
  if (!isIPv6(address)) return undefined
  const canonical = new SocketAddress({ address, family: 'ipv6' }).address
  const mapped = canonical.slice('::ffff:'.length)
  return isIPv4(mapped) ? mapped : canonical
}
