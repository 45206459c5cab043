import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type ApiResponse, call, waitFor } from './harness.ts'

export type Received = {
  path: string
  headers: Record<string, string>
  body: string
}

export type Receiver = {
  url: string
  received: Received[]
  /** The requests to one path. Tests give each webhook a path of its own. */
  requestsTo(path: string): Received[]
  /** Waits until the path has received this many requests, and returns them. */
  waitForRequests(path: string, count: number): Promise<Received[]>
  /** Waits until the path has received this many events, and returns the first request of each delivery. */
  waitForEvents(path: string, count: number): Promise<Received[]>
}

type Respond = (received: Received, response: ServerResponse, request: IncomingMessage) => void

const succeed: Respond = (_received, response) => response.writeHead(204).end()

/**
 * Leaves out repeated attempts: on a busy machine this process may answer too late. A redelivery counts as repeated
 * too.
 */
function firstOfEach(requests: Received[]): Received[] {
  const byDelivery = Map.groupBy(
    requests,
    ({ headers }) => `${headers['x-api-video-webhookid']} ${headers['webhook-id']}`,
  )
  return [...byDelivery.values()].map(([first]) => first!)
}

/** An HTTP server that receives webhooks. */
export async function startReceiver(
  t: { after(end: () => unknown): void },
  respond: Respond = succeed,
  host = '127.0.0.1',
): Promise<Receiver> {
  const received: Received[] = []
  const listener: RequestListener = async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    const headers = request.headers as Record<string, string>
    const each = { path: request.url ?? '', headers, body }
    received.push(each)
    respond(each, response, request)
  }
  const server = createServer(listener).listen(0, host)
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const requestsTo = (path: string) => received.filter((each) => each.path === path)
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    received,
    requestsTo,
    async waitForRequests(path, count) {
      await waitFor(
        () => requestsTo(path).length >= count,
        () => `${path} received ${requestsTo(path).length} of ${count} requests`,
      )
      return requestsTo(path)
    },
    async waitForEvents(path, count) {
      const found = () => firstOfEach(requestsTo(path))
      await waitFor(
        () => found().length >= count,
        () => `${path} received ${found().length} of ${count} events`,
      )
      return found()
    },
  }
}

export const encoded = 'video.encoding.quality.completed'

export type NewWebhook = { webhookId: string; url: string; signatureSecret: string; standardSecret: string }

export async function createWebhook(base: string, url: string, events = [encoded]): Promise<NewWebhook> {
  const response = await call(`${base}/webhooks`, { method: 'POST', json: { events, url } })
  if (response.status !== 201) throw new Error(response.text)
  return response.body
}

export const post = (url: string, json: unknown = {}): Promise<ApiResponse> =>
  call(url, { method: 'POST', json })

export type Attempt = {
  at: string
  durationMs: number
  status: number | null
  answer: string | null
  error: string | null
}
/** On a busy machine an answer may be too late. */
export const lateError = 'No response within 5 seconds.'

export type Delivery = {
  deliveryId: string
  eventId: string
  type: string
  state: string
  nextAttemptAt: string | null
  attempts: Attempt[]
}

/** The attempts without those that this process, which receives them, answered too late. */
export const answeredOf = ({ attempts }: Delivery): Attempt[] =>
  attempts.filter(({ error }) => error !== lateError)

export async function deliveriesOf(base: string, webhookId: string, query = ''): Promise<Delivery[]> {
  const { status, body, text } = await call(`${base}/webhooks/${webhookId}/deliveries?pageSize=100${query}`)
  if (status !== 200) throw new Error(text)
  return body.data
}

/** Waits until there are at least this many deliveries and none is pending. */
export async function waitForDeliveries(base: string, webhookId: string, count: number): Promise<Delivery[]> {
  let deliveries: Delivery[] = []
  await waitFor(
    async () => {
      deliveries = await deliveriesOf(base, webhookId)
      return deliveries.length >= count && deliveries.every(({ state }) => state !== 'pending')
    },
    () => JSON.stringify(deliveries),
  )
  return deliveries
}
