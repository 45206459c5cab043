import { STATUS_CODES } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isUnreachable } from './db.ts'
import { ApiError, type ErrorSlug, errorKinds, invalidPayload } from './errors.ts'
import { FileStoreError } from './files/files.ts'
import type { App } from './http.ts'
import { withoutSecrets } from './log.ts'

/** What Fastify itself refuses, in our words. */
const frameworkErrors: Record<string, () => ApiError> = {
  FST_ERR_CTP_BODY_TOO_LARGE: () => new ApiError('payload-too-large'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    invalidPayload('The body is shorter or longer than Content-Length says.'),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => invalidPayload('The Content-Type header is malformed.'),
  FST_ERR_BAD_URL: () => new ApiError('invalid-url'),
}

export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const known = frameworkErrors[code]
  if (known) return known()
  if (isUnreachable(error) || error instanceof FileStoreError) {
    return new ApiError('service-unavailable', { cause: error, headers: { 'retry-after': '2' } })
  }
  // What a client broke off or garbled while sending is no fault of ours.
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500
  if (status >= 400 && status < 500) return new ApiError('bad-request', { cause: error })
  return new ApiError('internal-error', { cause: error })
}

/** Nobody reads the answer then. */
const isClientGone = ({ raw }: FastifyRequest) => raw.destroyed && !raw.complete

/** Told by the request's own stream, it is no sign of a lost database: its code alone would say so. */
const isBrokenConnection = (error: unknown) =>
  error instanceof Error &&
  'code' in error &&
  (error.code === 'ECONNRESET' || error.code === 'ERR_STREAM_PREMATURE_CLOSE')

function logGone(request: FastifyRequest): void {
  const line = { requestId: request.id, method: request.method, url: withoutSecrets(request.originalUrl) }
  request.log.info(line, 'the client closed the connection before its body was complete')
}

/** The one place where an error becomes an answer. */
export function answerErrors(app: App, typeBase: () => string): void {
  function answer(error: unknown, request: FastifyRequest, reply: FastifyReply) {
    const isGone = isClientGone(request)
    const apiError =
      isGone && isBrokenConnection(error) ? new ApiError('bad-request', { cause: error }) : toApiError(error)
    if (isGone && request.routeOptions.logLevel !== 'silent') logGone(request)
    if (apiError.status >= 500)
      request.log.error({ requestId: request.id, err: apiError.cause ?? error }, 'request failed')
    reply.code(apiError.status).headers(apiError.extra.headers ?? {})
    // A serialiser of its own: a route's schema for its success must not shape its errors.
    reply.serializer(JSON.stringify).header('content-type', 'application/problem+json')
    return reply.send(apiError.body(typeBase()))
  }

  app.setErrorHandler(answer)

  const routes: { pattern: RegExp; method: string }[] = []
  app.addHook('onRoute', ({ url, method }) => {
    // The route that answers every preflight has no address of its own.
    if (url.includes('*')) return
    const pattern = new RegExp(`^${url.replaceAll('.', '\\.').replace(/:[^/]+/g, '[^/]+')}/?$`)
    for (const name of [method].flat()) routes.push({ pattern, method: name })
  })
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0] ?? ''
    const allowed = new Set(routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))
    const isMethodAtFault = allowed.size > 0 && !allowed.has(request.method)
    const error = isMethodAtFault
      ? new ApiError('method-not-allowed', { headers: { allow: [...allowed].join(', ') } })
      : new ApiError('unrecognized-request-url')
    return answer(error, request, reply)
  })
}

/** Headers of a success that was being prepared when it failed. */
const successHeaders = [
  'accept-ranges',
  'content-disposition',
  'content-encoding',
  'etag',
  'expires',
  'last-modified',
  'location',
  'x-accel-redirect',
]

/** Only successes may be kept: a cache would give the error to everybody for as long as the file would have lasted. */
export function forbidCaching(reply: FastifyReply): void {
  for (const name of successHeaders) reply.removeHeader(name)
  // There it tells how long the file is.
  if (reply.statusCode !== 416) reply.removeHeader('content-range')
  if (!/\bno-store\b/.test(String(reply.getHeader('cache-control'))))
    reply.header('cache-control', 'no-store')
}

/** For what is refused before there is a request: the whole answer, as bytes. */
export function rawAnswer(slug: ErrorSlug, typeBase: string): string {
  const [status] = errorKinds[slug]
  const body = JSON.stringify(new ApiError(slug).body(typeBase))
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/problem+json',
    'access-control-allow-origin: *',
    'cache-control: no-store',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}
