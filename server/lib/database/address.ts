import { lookup } from 'node:dns/promises'
import { type LookupFunction, Socket } from 'node:net'
import pg from 'pg'

/** Where a server listens. The host is a name, an IP address or the folder of a unix socket. */
export type Address = {
  host: string
  port: number
  /** One of the IP addresses of the name. Undefined if the system chooses. */
  ip?: string
}

export const nameOf = ({ host, port, ip }: Address) =>
  ip === undefined || ip === host ? `${host}:${port}` : `${host}:${port} (${ip})`

export function addressOf(connectionString: string): Address {
  // The driver knows the defaults and the variables of the environment.
  const { host, port } = new pg.Client({ connectionString })
  return { host, port }
}

/** All IP addresses of the host. */
export async function resolveAddress({ host, port }: Address): Promise<Address[]> {
  if (host.startsWith('/')) return [{ host, port }]
  const found = await lookup(host, { all: true })
  return found.map(({ address }) => ({ host, port, ip: address }))
}

/** Connects to the chosen IP address. The driver still knows the name of the host, which the certificate is valid for. */
export class AddressSocket extends Socket {
  ip: string | undefined

  override connect(...args: unknown[]): this {
    const [port, host] = args
    if (this.ip === undefined || typeof port !== 'number') return super.connect(...(args as [number, string]))
    const found = { address: this.ip, family: this.ip.includes(':') ? 6 : 4 }
    const lookup: LookupFunction = (_name, { all }, done) =>
      all ? done(null, [found]) : done(null, found.address, found.family)
    return super.connect({ port, host: host as string, lookup })
  }
}
