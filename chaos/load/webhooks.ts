import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expectStatus, type LoadContext } from './load.ts'

const events = [
  'video.encoding.quality.completed',
  'video.encoding.completed',
  'live-stream.broadcast.started',
]
export const reliablePath = '/reliable'

/** Receivers that fail in every way, and one that does not. Returns what closes them. */
export async function startReceivers(context: LoadContext): Promise<() => void> {
  const { client, ledger, random, installation } = context
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk)).on('error', () => {})
    response.on('error', () => {})
    request.on('end', () => {
      switch (request.url) {
        case reliablePath: {
          const id = String(request.headers['webhook-id'])
          const body = Buffer.concat(chunks).toString()
          ledger.delivered.set(id, (ledger.delivered.get(id) ?? new Set()).add(body))
          return response.writeHead(204).end()
        }
        case '/errors':
          return response.writeHead(random.pick([204, 400, 500, 503])).end('not now')
        case '/resets':
          return request.socket.destroy()
        case '/slow':
          return setTimeout(() => response.writeHead(204).end(), 3_000).unref()
        case '/silent':
          return undefined
      }
    })
  }).listen(0, installation.network.ownAddress)
  await once(server, 'listening')
  const url = `http://${installation.network.ownAddress}:${(server.address() as AddressInfo).port}`
  for (const path of [reliablePath, '/errors', '/resets', '/slow', '/silent']) {
    const created = await client.send('/webhooks', { method: 'POST', json: { events, url: url + path } })
    expectStatus(ledger, 'POST /webhooks', created, 201)
  }
  return () => {
    server.close()
    server.closeAllConnections()
  }
}
