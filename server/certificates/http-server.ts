import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Config } from '../config.ts'
import type { Context } from '../context.ts'
import { createServer, rejectConnection } from '../lib/connections.ts'
import { listenError } from '../lib/start-error.ts'
import { findKeyAuthorization } from './store.ts'

type Deps = Pick<Context, 'config' | 'db' | 'log' | 'publicUrl'>

const challengePath = /^\/\.well-known\/acme-challenge\/([\w-]{1,128})$/

/**
 * The server on port 80. It answers the challenges of the certificate authority, which any process may receive, and
 * redirects everything else to HTTPS.
 */
export async function openHttpServer(
  deps: Deps,
  { domains, httpPort }: NonNullable<Config['acme']>,
): Promise<{ port: number; close(): Promise<void> }> {
  const { config, log } = deps
  const server = createServer((request, response) => {
    answer(request, response).catch((err) => {
      log.warn({ err }, 'a challenge of the certificate authority could not be answered')
      send(response, 503)
    })
  }, undefined)
  server.on('clientError', (_error, socket) =>
    rejectConnection(
      socket as never,
      'HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n',
    ),
  )

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = '', headers } = request
    const [, token] = challengePath.exec(url) ?? []
    if (token === undefined) {
      const location = redirectTarget(url, headers.host, { domains, publicUrl: deps.publicUrl() })
      return send(response, 308, { location })
    }
    if (method !== 'GET' && method !== 'HEAD') return send(response, 405, { allow: 'GET, HEAD' })
    const found = await findKeyAuthorization(deps.db, token)
    if (found === undefined) return send(response, 404)
    response.setHeader('content-type', 'application/octet-stream')
    response.end(found)
  }

  server.listen(httpPort, config.host)
  await once(server, 'listening').catch((error) => {
    throw listenError(error, { host: config.host, port: httpPort }, 'KINORA_HTTP_PORT')
  })
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

function send(response: ServerResponse, status: number, headers: Record<string, string> = {}): void {
  response.writeHead(status, { ...headers, 'content-length': 0, 'cache-control': 'no-store' }).end()
}

/** Only ever one of our own domains: the Host header can name any other. */
export function redirectTarget(
  url: string,
  host: string | undefined,
  { domains, publicUrl }: { domains: string[]; publicUrl: string },
): string {
  const origin = new URL(publicUrl)
  const name = host?.toLowerCase().replace(/\.?(?::\d+)?$/, '')
  if (name !== undefined && domains.includes(name)) origin.hostname = name
  const path = url.startsWith('/') ? url : '/'
  return `${origin.origin}${path.replace(/[^\x21-\x7e]/g, (char) => encodeURIComponent(char))}`
}
