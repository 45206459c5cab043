import type { ServerResponse } from 'node:http'
import type { Context } from '../../../context.ts'
import { notFound } from '../../../lib/errors.ts'
import type { App } from '../../../lib/http.ts'
import type { Broadcasts, LiveBroadcast } from '../live-broadcast.ts'
import { encodeFrame, type FeedMessage, feedType } from './frames.ts'
import { isSignedFeedRequest } from './signature.ts'
import { snapshotOf } from './snapshot.ts'

export const feedPath = (broadcastId: string) => `/internal/live/${broadcastId}/feed`

/** A process that is further behind is disconnected. It connects again and receives the present state. */
const maxQueuedBytes = 8 * 1024 * 1024
export const pingMs = 1_000

type Deps = Pick<Context, 'config' | 'now' | 'secret'>
type Request = { Params: { broadcastId: string }; Querystring: { fence?: unknown } }

/** What the owner of a broadcast sends to the other processes of the service. Nobody else knows that it exists. */
export function feedRoutes(app: App, { config, now, secret }: Deps, broadcasts: Broadcasts): void {
  if (!config.roles.has('live')) return
  const options = { schema: { hide: true }, logLevel: 'silent' } as const
  app.get<Request>(feedPath(':broadcastId'), options, (request, reply) => {
    const { broadcastId: id } = request.params
    const fence = Number(request.query.fence)
    if (!isSignedFeedRequest(secret, { id, fence }, request.headers.authorization, now()))
      throw notFound('broadcastId')
    const live = broadcasts.get(id)
    if (live?.fence !== fence || live.closed.aborted) throw notFound('broadcastId')
    reply.hijack()
    sendFeed(reply.raw, live)
  })
}

export function sendFeed(response: ServerResponse, live: LiveBroadcast): void {
  response.writeHead(200, { 'content-type': feedType, 'cache-control': 'no-store' })
  response.on('error', () => {})
  const send = (message: FeedMessage) => {
    if (response.destroyed || response.writableEnded) return
    for (const bytes of encodeFrame(message)) response.write(bytes)
  }
  response.cork()
  for (const event of snapshotOf(live)) send(event)
  send({ kind: 'complete' })
  response.uncork()
  // The data of the state is in memory anyway. Only what comes later can pile up.
  const maxBytes = response.writableLength + maxQueuedBytes
  const unsubscribe = live.subscribe((event) => {
    send(event)
    if (response.writableLength > maxBytes) response.destroy()
  })
  const timer = setInterval(() => send({ kind: 'ping' }), pingMs)
  const end = () => response.end()
  live.closed.addEventListener('abort', end)
  response.once('close', () => {
    unsubscribe()
    clearInterval(timer)
    live.closed.removeEventListener('abort', end)
  })
}
