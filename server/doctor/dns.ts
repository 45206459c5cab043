import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { isPublicAddress } from '../lib/fetch/target.ts'
import { type Check, type Finding, failed, firstLine, ok, warning } from './check.ts'

export const isLocal = (hostname: string) =>
  hostname === 'localhost' || hostname.endsWith('.localhost') || /^(127\.|\[?::1\]?$)/.test(hostname)

export const dnsCheck: Check = {
  name: 'DNS',
  ifStuck: 'The DNS server of this machine does not respond: see /etc/resolv.conf.',
  async run({ publicUrl, config, localUrl }) {
    const publicHost = new URL(publicUrl).hostname.replace(/^\[(.*)\]$/, '$1')
    const domains = config.acme?.domains ?? []
    const hosts = [...new Set([publicHost, ...domains])]
    const results = await Promise.all(hosts.map(findAddresses))
    const known = ownAddresses()
    // A running service is requested at its public URL, which proves that these addresses lead to it.
    if (localUrl && Array.isArray(results[0])) known.push(...results[0])
    return hosts.map((host, i) =>
      judgeHost(host, results[i]!, {
        setting: domains.includes(host) ? 'KINORA_DOMAIN' : 'KINORA_PUBLIC_URL',
        known,
      }),
    )
  },
}

const ownAddresses = () =>
  Object.values(networkInterfaces()).flatMap((found) => found?.map(({ address }) => address) ?? [])

const findAddresses = (host: string): Promise<string[] | Error> =>
  isIP(host) || isLocal(host)
    ? Promise.resolve([])
    : lookup(host, { all: true }).then(
        (found) => found.map(({ address }) => address),
        (error: Error) => error,
      )

type Place = {
  setting: 'KINORA_DOMAIN' | 'KINORA_PUBLIC_URL'
  /** Addresses that lead to this machine. */
  known: string[]
}

/** With KINORA_DOMAIN, clients reach this machine without a proxy. */
export function judgeHost(host: string, addresses: string[] | Error, { setting, known }: Place): Finding {
  if (addresses instanceof Error)
    return failed(
      `${host} has no address (${(addresses as NodeJS.ErrnoException).code ?? firstLine(addresses)}).`,
      `Create an A or AAAA record for it, or correct ${setting}.`,
    )
  if (addresses.length === 0) return ok(`${host} needs no DNS record.`)
  const text = `${host} has the address ${addresses.join(', ')}`
  if (!addresses.every(isPublicAddress))
    return warning(
      `${text}, which the internet does not reach.`,
      'If viewers are not in your network, point the DNS record at the public address of this server or of its proxy. An entry in /etc/hosts hides the record.',
    )
  if (setting === 'KINORA_DOMAIN' && !addresses.some((address) => known.includes(address)))
    return warning(
      `${text}, which no network interface of this machine has.`,
      'If this machine is behind NAT, as in many clouds, check that the address is the public one and that its ports 80 and 443 are forwarded here. Otherwise correct the DNS record.',
    )
  return ok(`${text}.`)
}
