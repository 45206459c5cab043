import { STATUS_CODES } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { prefersHtml } from './accept.ts'
import { isUnreachable } from './database/errors.ts'
import { ApiError, type ErrorKind, httpErrors, invalidPayload } from './errors.ts'
import { FileStoreError } from './files/files.ts'
import type { App } from './http.ts'

const frameworkErrors: Record<string, () => ApiError> = {
  FST_ERR_CTP_BODY_TOO_LARGE: () => new ApiError(httpErrors.payloadTooLarge),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    invalidPayload('The size of the body does not match the Content-Length header.'),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () => invalidPayload('The Content-Type header is malformed.'),
  FST_ERR_BAD_URL: () => new ApiError(httpErrors.invalidUrl),
}

export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const known = frameworkErrors[code]
  if (known) return known()
  if (error instanceof FileStoreError && error.kind === 'full')
    return new ApiError(httpErrors.insufficientStorage, { cause: error, headers: { 'retry-after': '60' } })
  if (isUnreachable(error) || error instanceof FileStoreError) {
    return new ApiError(httpErrors.serviceUnavailable, { cause: error, headers: { 'retry-after': '2' } })
  }
  // Libraries set a 4xx status when the client aborted the request or sent malformed data.
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500
  if (status >= 400 && status < 500) return new ApiError(httpErrors.badRequest, { cause: error })
  return new ApiError(httpErrors.internalError, { cause: error })
}

const isClientGone = ({ raw }: FastifyRequest) => raw.socket.destroyed || (raw.destroyed && !raw.complete)

/** The database driver uses the same codes, so they mean a client error only when the client is gone. */
const isBrokenConnection = (error: unknown) =>
  error instanceof Error &&
  'code' in error &&
  (error.code === 'ECONNRESET' || error.code === 'ERR_STREAM_PREMATURE_CLOSE')

function logAborted(request: FastifyRequest, url: string): void {
  const line = { requestId: request.id, method: request.method, url }
  const missing = request.raw.complete ? 'the response' : 'the request body was complete'
  request.log.info(line, `the client closed the connection before ${missing}`)
}

export type ErrorFormats = {
  /** What else to tell about an error that has no `detail`. */
  detail?: (error: ApiError, request: FastifyRequest) => string | undefined
  /** Returns the URL that error slugs are appended to. */
  typeBase: () => string
  /** The page for clients that prefer HTML. Without it, all clients get JSON. */
  page?:
    | ((error: ApiError, requestId: string) => { headers: Record<string, string>; html: string })
    | undefined
}

const withDetail = ({ kind, message: title, extra }: ApiError, detail: string | undefined) =>
  new ApiError(kind, { ...extra, title, detail })

/** Sends an error in the format that the client prefers. */
export function sendApiError(
  error: ApiError,
  { id, headers }: Pick<FastifyRequest, 'id' | 'headers'>,
  reply: FastifyReply,
  { typeBase, page }: ErrorFormats,
): FastifyReply {
  reply.code(error.status).headers(error.extra.headers ?? {})
  // The route's serializer is for its success response only.
  reply.serializer(String)
  const others = reply.getHeader('vary')
  reply.header('vary', others ? `${others}, accept` : 'accept')
  if (page && prefersHtml(headers.accept)) {
    const rendered = page(error, id)
    return reply.headers(rendered.headers).send(rendered.html)
  }
  return reply.header('content-type', 'application/problem+json').send(JSON.stringify(error.body(typeBase())))
}

export function handleErrors(
  app: App,
  formats: ErrorFormats,
  urlForLog: (request: FastifyRequest) => string,
): void {
  const sendError = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const isGone = isClientGone(request)
    const apiError =
      isGone && isBrokenConnection(error)
        ? new ApiError(httpErrors.badRequest, { cause: error })
        : toApiError(error)
    if (isGone && request.routeOptions.logLevel !== 'silent') logAborted(request, urlForLog(request))
    // 501 answers a request for a feature that does not exist; nothing has failed.
    if (apiError.kind === httpErrors.insufficientStorage)
      request.log.warn({ requestId: request.id, reason: String(apiError.cause) }, 'request refused')
    else if (apiError.status >= 500 && apiError.status !== 501)
      request.log.error({ requestId: request.id, err: apiError.cause ?? error }, 'request failed')
    const detail = apiError.extra.detail ?? formats.detail?.(apiError, request)
    return sendApiError(withDetail(apiError, detail), request, reply, formats)
  }

  app.setErrorHandler(sendError)
  const allowedMethods = collectMethods(app)
  app.setNotFoundHandler((request, reply) => {
    const allowed = allowedMethods(request.url.split('?', 1)[0] ?? '')
    const error =
      allowed.size > 0 && !allowed.has(request.method)
        ? new ApiError(httpErrors.methodNotAllowed, { headers: { allow: [...allowed].join(', ') } })
        : new ApiError(httpErrors.unknownUrl)
    return sendError(error, request, reply)
  })
}

/** Returns a function that finds the methods of the routes with a path. */
function collectMethods(app: App): (path: string) => Set<string> {
  const routes: { pattern: RegExp; method: string }[] = []
  app.addHook('onRoute', ({ url, method }) => {
    // The wildcard route of CORS preflights matches every path.
    if (url.includes('*')) return
    const pattern = new RegExp(`^${url.replaceAll('.', '\\.').replace(/:[^/]+/g, '[^/]+')}/?$`)
    for (const name of [method].flat()) routes.push({ pattern, method: name })
  })
  return (path) => new Set(routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))
}

/** Headers that a handler may have set for a success response before it failed. */
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

/** Without this, a cache would serve the error to every client for as long as it may keep the file. */
export function forbidCaching(reply: FastifyReply): void {
  for (const name of successHeaders) reply.removeHeader(name)
  // A 416 reports the size of the file in this header.
  if (reply.statusCode !== 416) reply.removeHeader('content-range')
  if (!/\bno-store\b/.test(String(reply.getHeader('cache-control'))))
    reply.header('cache-control', 'no-store')
}

/** The bytes of an error response for connections that fail before there is a request object. */
export function rawErrorResponse(kind: ErrorKind, typeBase: string): string {
  const body = JSON.stringify(new ApiError(kind).body(typeBase))
  const lines = [
    `HTTP/1.1 ${kind.status} ${STATUS_CODES[kind.status]}`,
    'content-type: application/problem+json',
    'access-control-allow-origin: *',
    'cache-control: no-store',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}
