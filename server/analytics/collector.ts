import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../contracts/context.ts'
import { ApiError } from '../lib/errors.ts'
import type { App } from '../lib/http.ts'
import { Type } from '../lib/schema.ts'
import { createSenderLimits } from './ip-rate-limit.ts'
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
/** Events are cheap to send and dear to keep: so many weigh as much as another report. */
const eventsPerReport = 20
/** And so many bytes, whatever is in them. */
const bytesPerReport = 4_096

const Session = Type.Object({
  session: Type.String({ description: 'Id of the session, for the next report.' }),
})

/**
 * Where players report what is watched. Without a key, as viewers have none, and for private videos as for others:
 * who could open the player was asked for its right then.
 */
export function collectorRoutes(app: App, context: Context): void {
  const { config, now } = context
  const writer = createSessionWriter(context)
  const use = config.rateLimits ? createSenderLimits(() => now().getTime()) : () => 0

  const exceeded = (address: string, cost: number) => {
    const seconds = use(address, cost)
    if (seconds === 0) return undefined
    return new ApiError('too-many-requests', {
      title: 'This address sends too many reports.',
      headers: { 'retry-after': String(seconds) },
    })
  }
  const limitRequest = (request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void) =>
    done(exceeded(request.ip, 1 + Math.floor(bytesOf(request) / bytesPerReport)))

  const senderOf = (request: FastifyRequest) => ({
    address: request.ip,
    userAgent: request.headers['user-agent'],
    country: config.countryHeader && request.headers[config.countryHeader],
    bytes: bytesOf(request),
  })

  async function answer(request: FastifyRequest, report: MediaReport) {
    const extra = Math.floor(report.events.length / eventsPerReport)
    const error = extra > 0 && exceeded(report.address, extra)
    if (error) throw error
    // Of which nothing is needed while the report waits.
    request.body = undefined
    return { session: await writer.submit(report) }
  }

  const options = { bodyLimit, logLevel: 'silent', onRequest: limitRequest } as const
  const described = (operationId: string, summary: string) => ({
    ...{ operationId, tags: ['Analytics'], summary, security: [] },
    description: 'Takes JSON whatever its content type is called, at most 64 KiB of it.',
    response: { 200: Session },
  })

  app.post(
    '/collector/vod',
    {
      ...options,
      schema: { ...described('POST_collector-vod', 'Report the viewing of a video'), body: VideoReport },
    },
    (request) => answer(request as FastifyRequest, readReport(request.body, senderOf(request))),
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
    (request) => answer(request as FastifyRequest, readReport(request.body, senderOf(request))),
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
    (request) => answer(request as FastifyRequest, readWatchReport(request.body, senderOf(request))),
  )
}

/** One that does not tell its length counts as the longest that is taken. */
function bytesOf({ headers }: FastifyRequest): number {
  const length = headers['content-length']
  return length === undefined ? bodyLimit : Math.min(bodyLimit, Number(length))
}
