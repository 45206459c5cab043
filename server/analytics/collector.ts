import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../context.ts'
import { ApiError, httpErrors } from '../lib/errors.ts'
import { sessionIdField } from '../lib/fields.ts'
import type { App } from '../lib/http.ts'
import { Type } from '../lib/schema.ts'
import { createIpRateLimit } from './ip-rate-limit.ts'
import {
  LiveReport,
  type MediaReport,
  readReport,
  readWatchReport,
  VideoReport,
  WatchReport,
} from './report.ts'
import { createSessionWriter } from './session-writer.ts'

const bodyLimit = 64 * 1_024
/** Events are cheap to send but expensive to store: every 20 of them cost as much as another report. */
const eventsPerReport = 20
/** Large bodies cost more, regardless of their content. */
const bytesPerReport = 4_096

const Session = Type.Object({
  session: sessionIdField('Id of the session. Send it with the next report.'),
})

/**
 * Receives viewing reports from players. There is no authentication, because viewers have no key. Private videos are no
 * exception, because access was checked when the player was opened.
 */
export function collectorRoutes(app: App, context: Context): void {
  const { config, now } = context
  const writer = createSessionWriter(context)
  const consume = config.rateLimits ? createIpRateLimit(() => now().getTime()) : () => 0

  const limitRequest = (request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void) => {
    const cost = 1 + Math.floor(bodySizeOf(request) / bytesPerReport)
    done(rateLimitError(consume(request.ip, cost)))
  }

  const senderOf = (request: FastifyRequest) => ({
    ipAddress: request.ip,
    userAgent: request.headers['user-agent'],
    country: config.countryHeader && request.headers[config.countryHeader],
    bytes: bodySizeOf(request),
  })

  async function collect(request: FastifyRequest, report: MediaReport) {
    const extraCost = Math.floor(report.events.length / eventsPerReport)
    const error = extraCost > 0 && rateLimitError(consume(report.ipAddress, extraCost))
    if (error) throw error
    // Frees the memory of the body while the report is queued.
    request.body = undefined
    return { session: await writer.submit(report) }
  }

  const options = { bodyLimit, logLevel: 'silent', onRequest: limitRequest } as const

  app.post(
    '/collector/vod',
    {
      ...options,
      schema: { ...described('POST_collector-vod', 'Report the viewing of a video'), body: VideoReport },
    },
    (request) => collect(request as FastifyRequest, readReport(request.body, senderOf(request))),
  )

  app.post(
    '/collector/live',
    {
      ...options,
      schema: {
        ...described('POST_collector-live', 'Report the viewing of a live stream'),
        body: LiveReport,
      },
    },
    (request) => collect(request as FastifyRequest, readReport(request.body, senderOf(request))),
  )

  app.post(
    '/collector/watch',
    {
      ...options,
      schema: {
        ...described('POST_collector-watch', 'Report a viewing in the short format'),
        body: WatchReport,
      },
    },
    (request) => collect(request as FastifyRequest, readWatchReport(request.body, senderOf(request))),
  )
}

const described = (operationId: string, summary: string) => ({
  operationId,
  tags: ['Analytics'],
  summary,
  security: [],
  description: 'Accepts JSON with any content type, up to 64 KiB.',
  response: { 200: Session },
})

/** Undefined if there is nothing to wait for. */
const rateLimitError = (waitSeconds: number) =>
  waitSeconds === 0
    ? undefined
    : new ApiError(httpErrors.tooManyRequests, {
        title: 'Too many reports from this IP address.',
        headers: { 'retry-after': String(waitSeconds) },
      })

/** A body of unknown length counts as one of the maximum length. */
function bodySizeOf({ headers }: FastifyRequest): number {
  const length = headers['content-length']
  return length === undefined ? bodyLimit : Math.min(bodyLimit, Number(length))
}
