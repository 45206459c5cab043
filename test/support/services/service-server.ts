import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Exchange = {
  method: string
  url: URL
  path: string
  body: Record<string, unknown>
  request: IncomingMessage
  response: ServerResponse
}

export type ServiceServer = { url: string; requests: string[]; close(): void }

/** A server that stands in for another service. `requests` lists the method and path of each request. */
export async function startService(
  respond: (exchange: Exchange, service: ServiceServer) => void,
): Promise<ServiceServer> {
  const requests: string[] = []
  const server = createServer(async (request, response) => {
    response.on('error', () => {})
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    const url = new URL(request.url ?? '/', service.url)
    const method = request.method ?? 'GET'
    requests.push(`${method} ${url.pathname}`)
    const body = text === '' ? {} : JSON.parse(text)
    respond({ method, url, path: url.pathname, body, request, response }, service)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const service: ServiceServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
  return service
}

export function sendJson(
  { response }: Pick<Exchange, 'response'>,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

/** The file, or the rest of it. With `isCut`, the connection ends in the middle. */
export function sendFileContent(
  { request, response }: Pick<Exchange, 'request' | 'response'>,
  content: Buffer,
  { isCut = false } = {},
) {
  const etag = `"${content.length}"`
  const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0)
  const isRange = request.headers.range !== undefined && request.headers['if-range'] === etag
  const body = isRange ? content.subarray(from) : content
  response.writeHead(isRange ? 206 : 200, {
    etag,
    'content-length': body.length,
    ...(isRange && { 'content-range': `bytes ${from}-${content.length - 1}/${content.length}` }),
  })
  if (!isCut) return void response.end(body)
  response.write(body.subarray(0, body.length >> 1), () => response.destroy())
}
