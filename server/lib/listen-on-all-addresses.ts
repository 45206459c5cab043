import { lookup } from 'node:dns/promises'
import type { Server } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'

/**
 * On most machines localhost has an IPv4 and an IPv6 address, and a server listens only on one. Accepts connections to
 * the other addresses of the host on the same port. An address that cannot be used is skipped.
 */
export async function listenOnAllAddresses(
  host: string,
  server: Server,
): Promise<{ close(): Promise<void> }> {
  const { address: own, port } = server.address() as AddressInfo
  const others = (await lookup(host, { all: true })).filter(({ address }) => address !== own)
  const forwarders = others.map(({ address }) => {
    const forwarder = createTcpServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
      server.emit('connection', socket),
    )
    forwarder.on('error', () => {})
    return forwarder.listen(port, address)
  })
  return {
    async close() {
      for (const forwarder of forwarders) forwarder.close()
    },
  }
}
