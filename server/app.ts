import type { IncomingMessage, RequestListener, Server } from 'node:http'
import cors from '@fastify/cors'
import Fastify, {
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  LogController,
} from 'fastify'
import { notFoundDetail } from './accounts/not-found.ts'
import type { Context } from './context.ts'
import type { Database } from './database.ts'
import { createServer, rejectConnection } from './lib/connections.ts'
import {
  type ErrorFormats,
  forbidCaching,
  handleErrors,
  rawErrorResponse,
  sendApiError,
  toApiError,
} from './lib/error-handler.ts'
import { httpErrors, invalidPayload } from './lib/errors.ts'
import { normalizeForwardedFor } from './lib/forwarded-for.ts'
import type { App } from './lib/http.ts'
import { newRequestId } from './lib/ids.ts'
import { urlsForLog } from './lib/logged-url.ts'
import { Pagination } from './lib/paging.ts'
import type { RateLimit } from './lib/rate-limit.ts'
import { readBody } from './lib/read-body.ts'
import { lazySerializers } from './lib/serialization.ts'
import { warningsHeader, warnOfUnknownFields } from './lib/unknown-fields.ts'
import { compileValidator, parseQuery } from './lib/validation.ts'
import { createImageLimit } from './media/image-upload.ts'
import { sentBytes } from './playback/metrics.ts'
import type { Authenticate } from './request.ts'
import type { ApiContext, OpenSlice } from './slice.ts'
import { findPart } from './slices.ts'

const bodyLimit = 1024 * 1024
/** The default body limit of routes without a key. */
const publicBodyLimit = 16 * 1024
/** Throws on invalid bytes; a lenient decoder would replace them with question marks. */
const utf8 = new TextDecoder('utf-8', { fatal: true })
const exposedHeaders = `x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-retry-after, x-request-id, ${warningsHeader}`

type AppOptions = {
  keyedDb: Database['keyedDb']
  reads: Database['reads']
  tls?: { cert: Buffer; key: Buffer } | undefined
  slices: OpenSlice[]
  limit: RateLimit
  /** Registers plugins that have to see every route. */
  beforeRoutes?: (app: App) => Promise<void>
}

export async function buildApp(context: Context, options: AppOptions): Promise<App> {
  const { slices, tls, limit, beforeRoutes } = options
  const apiContext: ApiContext = {
    ...context,
    authenticate: findPart(slices, 'authenticate'),
    limit,
    imageLimit: createImageLimit(),
  }
  const errors: ErrorFormats = {
    typeBase: () => `${context.publicUrl()}/docs/errors/`,
    detail: notFoundDetail,
    // The page links to others, which only this role serves.
    page: context.config.roles.has('api') ? findPart(slices, 'errorPage') : undefined,
  }

  const repeat = findPart(slices, 'repeat')
  const listen = (handler: RequestListener): RequestListener =>
    context.config.roles.has('api')
      ? (request, response) => {
          // The hooks end connections while the process stops.
          if (app.isClosing) handler(request, response)
          else repeat(request, response, () => handler(request, response))
        }
      : handler
  const app = Fastify(
    serverOptions(context, errors, (handler) => createServer(listen(handler), tls)),
  ) as unknown as App
  app.setValidatorCompiler(compileValidator as never)
  for (const schema of [Pagination, ...slices.flatMap(({ schemas = [] }) => schemas)]) app.addSchema(schema)
  addParsers(app, context.config.bodyMs)
  const urlForLog = urlsForLog(app)
  handleErrors(app, errors, urlForLog)
  if (context.config.trustProxy.length > 0) normalizeAddresses(app)
  addHooks(app, context, urlForLog)
  // Before CORS, whose hook answers preflight requests.
  for (const slice of slices) slice.hooks?.(app, context)
  await addCors(app)

  await beforeRoutes?.(app)
  for (const slice of slices) slice.processRoutes?.(app, apiContext)
  if (!context.config.roles.has('api')) return app
  await addApiRoutes(app, apiContext, options)
  return app
}

function serverOptions(
  { config, log }: Context,
  errors: ErrorFormats,
  serverFactory: (handler: RequestListener) => Server,
): FastifyServerOptions {
  return {
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    // A child logger for each request would cost more than the one line that it writes.
    childLoggerFactory: (logger) => logger,
    bodyLimit: publicBodyLimit,
    // Requests that arrive while the others are finished are answered, too.
    return503OnClosing: false,
    genReqId: newRequestId,
    trustProxy: config.trustProxy.length > 0 ? config.trustProxy : false,
    rewriteUrl,
    routerOptions: {
      ignoreTrailingSlash: true,
      // Longer than any id, so that the handler answers 404 with the name of the parameter.
      maxParamLength: 16_384,
      querystringParser: parseQuery,
    },
    serverFactory,
    // Fastify runs no hooks for these errors.
    frameworkErrors(error, request, reply) {
      reply.headers({
        'x-request-id': request.id,
        'access-control-allow-origin': '*',
        'access-control-expose-headers': exposedHeaders,
        'cache-control': 'no-store',
      })
      sendApiError(toApiError(error), request, reply as FastifyReply, errors)
    },
    clientErrorHandler(error, socket) {
      if (error.code === 'ECONNRESET') return socket.destroy()
      rejectConnection(
        socket,
        rawErrorResponse(connectionErrors[error.code] ?? httpErrors.badRequest, errors.typeBase()),
      )
    },
    schemaController: { compilersFactory: { buildSerializer: lazySerializers } },
  }
}

const connectionErrors: Record<string, typeof httpErrors.badRequest> = {
  HPE_HEADER_OVERFLOW: httpErrors.headersTooLarge,
  ERR_HTTP_REQUEST_TIMEOUT: httpErrors.requestTimeout,
}

const urlPrefix = Symbol('prefix')
type Prefix = Pick<FastifyRequest, 'requiredEnvironment' | 'dashboardEnvironment'>
type Incoming = IncomingMessage & { [urlPrefix]?: Prefix }

/** The same routes serve both environments, and the dashboard. */
const prefixes: Record<string, Prefix> = {
  '/sandbox': { requiredEnvironment: 'sandbox', dashboardEnvironment: undefined },
  '/dashboard/api/production': { requiredEnvironment: 'production', dashboardEnvironment: 'production' },
  '/dashboard/api/sandbox': { requiredEnvironment: 'sandbox', dashboardEnvironment: 'sandbox' },
}
const anyPrefix = /^(?:\/sandbox|\/dashboard\/api\/(?:production|sandbox))(?=\/|$)/

/**
 * Removes the prefix. Also accepts `//videos`, which clients send when their base URL ends in a slash, and the absolute
 * URLs of some proxies.
 */
function rewriteUrl(incoming: Incoming): string {
  const url = incoming.url ?? '/'
  if (url.startsWith('/') && !url.includes('//') && !/^\/(sandbox|dashboard)/.test(url)) return url
  const [, path = '', query = ''] = /^(?:https?:\/\/[^/?]*)?([^?]*)(.*)$/is.exec(url) ?? []
  const plain = path.replaceAll(/\/{2,}/g, '/')
  const [prefix = ''] = anyPrefix.exec(plain) ?? []
  if (prefix) incoming[urlPrefix] = prefixes[prefix]!
  return plain.slice(prefix.length) + query || '/'
}

function addParsers(app: App, bodyMs: number): void {
  // Clients send JSON with various content types, some of which do not mention JSON.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', async (request: FastifyRequest, body: IncomingMessage) => {
    if (request.is404) return undefined
    const maxBytes = request.routeOptions.bodyLimit ?? publicBodyLimit
    const bytes = await readBody(body, { maxBytes, withinMs: bodyMs })
    if (bytes.length === 0) return undefined
    try {
      return JSON.parse(utf8.decode(bytes))
    } catch {
      throw invalidPayload('The body is not valid JSON.')
    }
  })
  // The handlers of file uploads read the body as a stream.
  app.addContentTypeParser('multipart/form-data', (_request, _body, done) => done(null, undefined))
}

async function addCors(app: App): Promise<void> {
  await app.register(cors, {
    origin: '*',
    methods: ['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE'],
    allowedHeaders:
      'authorization, content-type, content-range, accept, av-origin-client, av-origin-app, av-origin-sdk, range',
    exposedHeaders,
    maxAge: 86_400,
    strictPreflight: false,
  })
}

function addHooks(app: App, { log, metrics }: Context, urlForLog: (request: FastifyRequest) => string): void {
  app.decorateRequest('requiredEnvironment')
  app.decorateRequest('dashboardEnvironment')
  app.decorateRequest('scope')
  app.decorateRequest('sessionScope')
  app.decorateRequest('read')
  app.addHook('onRequest', (request, reply, done) => {
    const prefix = (request.raw as Incoming)[urlPrefix]
    if (prefix) Object.assign(request, prefix)
    reply.header('x-request-id', request.id)
    done()
  })
  app.decorate('isStopping', false)
  app.decorate('isClosing', false)
  app.addHook('onSend', (request, reply, payload, done) => {
    // A kept-alive connection would delay the shutdown.
    if (app.isClosing) reply.header('connection', 'close')
    // Does not exist in HTTP/2, which has another way to end a connection.
    if (request.raw.httpVersionMajor > 1) reply.removeHeader('connection')
    removeCharset(reply)
    if (reply.statusCode >= 400) forbidCaching(reply)
    done(null, payload)
  })
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none'
    metrics.observeRequest(route, request.method, reply.statusCode, reply.elapsedTime / 1000)
    if (!request.routeOptions.config.countsSentBytes && request.method !== 'HEAD')
      metrics.count(sentBytes, { kind: 'other' }, Number(reply.getHeader('content-length') ?? 0))
    const isSilent = request.routeOptions.logLevel === 'silent'
    const level = logLevelOf(request)
    if (!isSilent && log.isLevelEnabled(level)) logRequest(request, reply, level, urlForLog(request))
    done()
  })
}

/** Has to run before anything asks for `request.ip`. */
function normalizeAddresses(app: App): void {
  app.addHook('onRequest', ({ raw: { headers } }, _reply, done) => {
    // Node joins repeated headers of this name.
    const list = headers['x-forwarded-for'] as string | undefined
    if (list !== undefined) headers['x-forwarded-for'] = normalizeForwardedFor(list)
    done()
  })
}

/** Existing clients compare the content type exactly, but Fastify adds a charset to it. */
function removeCharset(reply: FastifyReply): void {
  const type = reply.getHeader('content-type')
  if (type === 'application/json; charset=utf-8') reply.header('content-type', 'application/json')
  else if (type === 'application/problem+json; charset=utf-8')
    reply.header('content-type', 'application/problem+json')
}

/** Viewers and pages send many times as many requests as programs that use the API. */
function logLevelOf({ routeOptions: { url, schema } }: FastifyRequest): 'info' | 'debug' {
  const isApi = schema !== undefined && 'operationId' in schema
  const isUnknown = url === undefined
  return isApi || isUnknown ? 'info' : 'debug'
}

function logRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  level: 'info' | 'debug',
  url: string,
): void {
  const warnings = reply.getHeader(warningsHeader)
  const line = {
    requestId: request.id,
    method: request.method,
    url,
    status: reply.statusCode,
    ms: Math.round(reply.elapsedTime * 10) / 10,
    ...(request.scope && { keyId: request.scope.keyId }),
    ...(warnings !== undefined && { warnings }),
  }
  request.log[level](line, 'request')
}

async function addApiRoutes(
  app: App,
  context: ApiContext,
  { slices, keyedDb, reads }: Pick<AppOptions, 'slices' | 'keyedDb' | 'reads'>,
): Promise<void> {
  for (const slice of slices) await slice.publicRoutes?.(app, context)
  await app.register(async (api) => {
    api.addHook('onRoute', (route) => {
      route.bodyLimit ??= bodyLimit
      route.config = { ...route.config, isInDashboard: true }
    })
    authenticateRequests(api as App, context.authenticate)
    limitRates(api as App, context.limit)
    limitReads(api as App, reads)
    warnOfUnknownFields(api as App)
    for (const slice of slices) slice.routes?.(api as App, { ...context, db: keyedDb })
  })
}

function authenticateRequests(app: App, authenticate: Authenticate): void {
  app.addHook('onRequest', async (request) => {
    request.scope = await authenticate(request)
  })
}

function limitReads(app: App, reads: Database['reads']): void {
  app.addHook('onRequest', (request, _reply, done) => {
    request.read = (work) => {
      // The signal of a request whose connection has closed before does not abort.
      const signal = request.socket.destroyed ? AbortSignal.abort() : request.signal
      return reads.run({ subject: request.scope.keyId, signal }, work)
    }
    done()
  })
}

function limitRates(app: App, limit: RateLimit): void {
  app.addHook('onRequest', (request, reply, done) => {
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    const { rateClass = isRead ? 'reads' : 'writes' } = request.routeOptions.config
    limit(reply, request.scope.keyId, rateClass)
    done()
  })
}
