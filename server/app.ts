import type { IncomingMessage } from 'node:http'
import cors from '@fastify/cors'
import Fastify, {
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  LogController,
} from 'fastify'
import { NewSigningKey, SigningKey, SigningKeyList, signingKeyRoutes } from './access/signing-key-routes.ts'
import type { Authenticator, Scope } from './accounts/authenticate.ts'
import { AccessToken, accountRoutes } from './accounts/routes.ts'
import { collectorRoutes } from './analytics/collector.ts'
import { dataRoutes } from './analytics/data-routes.ts'
import { AggregatedMetric, MetricBuckets, MetricSeries } from './analytics/data-schemas.ts'
import { MetadataKeys, MetadataValues, metadataRoutes, Retention } from './analytics/metadata-routes.ts'
import { PlayList, playsRoutes } from './analytics/plays-routes.ts'
import { limitReads } from './analytics/query-limits.ts'
import { sessionRoutes } from './analytics/session-routes.ts'
import { ViewingEventList, ViewingSession, ViewingSessionList } from './analytics/session-schemas.ts'
import type { Context } from './context.ts'
import { docsRoutes } from './docs/routes.ts'
import { encodingRoutes } from './encoding/routes.ts'
import type { Environment } from './environments.ts'
import { createServer, refuse } from './lib/connections.ts'
import { forbidCaching, handleErrors, rawErrorResponse, toApiError } from './lib/error-handler.ts'
import { httpErrors, invalidPayload } from './lib/errors.ts'
import type { App } from './lib/http.ts'
import { newRequestId } from './lib/ids.ts'
import { createLimit, type Limit } from './lib/limit-requests.ts'
import { withoutSecrets } from './lib/log.ts'
import type { Metrics } from './lib/metrics.ts'
import { Pagination } from './lib/paging.ts'
import type { RateClass } from './lib/rate-limits.ts'
import { readBody } from './lib/read-body.ts'
import { lazySerializers } from './lib/serialization.ts'
import { compileValidator, parseQuery } from './lib/validation.ts'
import { operationsRoutes } from './operations.ts'
import { playbackRoutes } from './playback/routes.ts'
import { embedRoutes } from './players/embed-routes.ts'
import { playerRoutes } from './players/routes.ts'
import { PlayerTheme, PlayerThemeList } from './players/schemas.ts'
import { thumbnailPlaybackRoutes } from './thumbnails/playback-routes.ts'
import { thumbnailRoutes } from './thumbnails/routes.ts'
import { createContention } from './uploads/contention.ts'
import { delegatedRoutes, type Shared, uploadRoutes } from './uploads/routes.ts'
import { UploadToken, UploadTokenList, uploadTokenRoutes } from './uploads/token-routes.ts'
import { tusRoutes } from './uploads/tus-routes.ts'
import { videoRoutes } from './videos/routes.ts'
import { TagList, Video, VideoList, VideoStatus } from './videos/schemas.ts'
import { webhookLogRoutes } from './webhooks/delivery-log-routes.ts'
import { webhookRoutes } from './webhooks/routes.ts'
import { Delivery, DeliveryList, Event, EventList, Webhook, WebhookList } from './webhooks/schemas.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The sandbox below /sandbox; undefined elsewhere, where the key or token decides. */
    requiredEnvironment: Environment | undefined
    /** Set on every route that needs a key. */
    scope: Scope
  }
  interface FastifyInstance {
    /** It is to end once what is under way is answered. */
    isClosing: boolean
  }
  interface FastifyContextConfig {
    rateClass?: RateClass
    /** What the API's description says of a body that the schema does not check. */
    described?: object
  }
}

const bodyLimit = 1024 * 1024
/** Of routes that need no key, unless they have a limit of their own. */
const openBodyLimit = 16 * 1024
/** Refuses bytes that are no text, where a lenient one would put question marks in their place. */
const utf8 = new TextDecoder('utf-8', { fatal: true })
const exposedHeaders = 'x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-retry-after, x-request-id'

/** Every slice's routes, in one list. */
function apiRoutes(app: App, context: Context, uploads: Shared): void {
  videoRoutes(app, context)
  signingKeyRoutes(app, context)
  thumbnailRoutes(app, context)
  uploadRoutes(app, context, uploads)
  uploadTokenRoutes(app, context)
  encodingRoutes(app, context)
  playerRoutes(app, context)
  webhookRoutes(app, context)
  webhookLogRoutes(app, context)
  const read = limitReads(context.db)
  dataRoutes(app, context, read)
  metadataRoutes(app, context, read)
  playsRoutes(app, context, read)
  sessionRoutes(app, context, read)
}

const sandbox = Symbol('sandbox')
type Incoming = IncomingMessage & { [sandbox]?: boolean }

/**
 * The same routes serve both environments. A base address that ends in a slash makes `//videos`, and a proxy may
 * send the whole address.
 */
function rewriteUrl(incoming: Incoming): string {
  const url = incoming.url ?? '/'
  if (url.startsWith('/') && !url.includes('//') && !url.startsWith('/sandbox')) return url
  const [, path = '', query = ''] = /^(?:https?:\/\/[^/?]*)?([^?]*)(.*)$/is.exec(url) ?? []
  const plain = path.replaceAll(/\/{2,}/g, '/')
  incoming[sandbox] = /^\/sandbox(\/|$)/.test(plain)
  return (incoming[sandbox] ? plain.slice('/sandbox'.length) : plain) + query || '/'
}

type AppOptions = {
  tls?: { cert: Buffer; key: Buffer } | undefined
  /** Registers plugins that watch the routes being added. */
  beforeRoutes?: (app: App) => Promise<void>
}

export async function buildApp(
  context: Context,
  authenticator: Authenticator,
  metrics: Metrics,
  { tls, beforeRoutes }: AppOptions = {},
): Promise<App> {
  const { config, log } = context
  const typeBase = () => `${context.publicUrl}/docs/errors/`

  const options: FastifyServerOptions = {
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    // A logger for each request would cost more than the one line it writes, which names the request itself.
    childLoggerFactory: (logger) => logger,
    bodyLimit: openBodyLimit,
    genReqId: newRequestId,
    trustProxy: config.trustProxy.length > 0 ? config.trustProxy : false,
    rewriteUrl,
    routerOptions: {
      ignoreTrailingSlash: true,
      // Longer ids than any that exist reach the handler, which answers 404 by the name of the parameter.
      maxParamLength: 16_384,
      querystringParser: parseQuery,
    },
    serverFactory: (handler) => createServer(handler, tls),
    // No hook has run for these.
    frameworkErrors(error, request, reply) {
      const apiError = toApiError(error)
      const headers = {
        'x-request-id': request.id,
        'access-control-allow-origin': '*',
        'access-control-expose-headers': exposedHeaders,
        'cache-control': 'no-store',
      }
      reply
        .status(apiError.status as never)
        .headers({ ...headers, 'content-type': 'application/problem+json' })
      reply.serializer(JSON.stringify).send(apiError.body(typeBase()) as never)
    },
    clientErrorHandler(error, socket) {
      if (error.code === 'ECONNRESET') return socket.destroy()
      const kind =
        error.code === 'HPE_HEADER_OVERFLOW'
          ? httpErrors.headersTooLarge
          : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
            ? httpErrors.requestTimeout
            : httpErrors.badRequest
      refuse(socket, rawErrorResponse(kind, typeBase()))
    },
    schemaController: { compilersFactory: { buildSerializer: lazySerializers } },
  }
  const app = Fastify(options) as unknown as App

  app.setValidatorCompiler(compileValidator as never)
  for (const schema of [
    AccessToken,
    Pagination,
    Video,
    VideoList,
    VideoStatus,
    TagList,
    SigningKey,
    NewSigningKey,
    SigningKeyList,
    PlayerTheme,
    PlayerThemeList,
    UploadToken,
    UploadTokenList,
    Webhook,
    WebhookList,
    Delivery,
    DeliveryList,
    Event,
    EventList,
    ViewingSession,
    ViewingSessionList,
    ViewingEventList,
    AggregatedMetric,
    MetricBuckets,
    MetricSeries,
    MetadataKeys,
    MetadataValues,
    Retention,
    PlayList,
  ])
    app.addSchema(schema)

  // Clients send JSON under several names, and some under none that says so.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', async (request: FastifyRequest, body: IncomingMessage) => {
    // What is sent to an address that does not exist does not matter.
    if (request.is404) return undefined
    const maxBytes = request.routeOptions.bodyLimit ?? openBodyLimit
    const bytes = await readBody(body, { maxBytes, withinMs: config.bodyMs })
    if (bytes.length === 0) return undefined
    try {
      return JSON.parse(utf8.decode(bytes))
    } catch {
      throw invalidPayload('The body is not valid JSON.')
    }
  })

  // Files are read by the routes that take them, as they arrive.
  app.addContentTypeParser('multipart/form-data', (_request, _body, done) => done(null, undefined))

  app.decorateRequest('requiredEnvironment')
  app.decorateRequest('scope')
  await app.register(cors, {
    origin: '*',
    methods: ['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE'],
    allowedHeaders:
      'authorization, content-type, content-range, accept, av-origin-client, av-origin-app, av-origin-sdk, range',
    exposedHeaders,
    maxAge: 86_400,
    strictPreflight: false,
  })

  app.addHook('onRequest', (request, reply, done) => {
    if ((request.raw as Incoming)[sandbox]) request.requiredEnvironment = 'sandbox'
    reply.header('x-request-id', request.id)
    done()
  })
  app.decorate('isClosing', false)
  app.addHook('preClose', (done) => {
    app.isClosing = true
    done()
  })
  // Existing clients compare the content type letter by letter; Fastify adds a charset to it.
  app.addHook('onSend', (_request, reply, payload, done) => {
    // A connection that is kept open after its last answer would hold up the end.
    if (app.isClosing) reply.header('connection', 'close')
    const type = reply.getHeader('content-type')
    if (type === 'application/json; charset=utf-8') reply.header('content-type', 'application/json')
    else if (type === 'application/problem+json; charset=utf-8')
      reply.header('content-type', 'application/problem+json')
    if (reply.statusCode >= 400) forbidCaching(reply)
    done(null, payload)
  })
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none'
    metrics.observeRequest(route, request.method, reply.statusCode, reply.elapsedTime / 1000)
    const isSilent = request.routeOptions.logLevel === 'silent'
    if (!isSilent && log.isLevelEnabled('info')) logRequest(request, reply)
    done()
  })
  handleErrors(app, typeBase)

  operationsRoutes(app, context, metrics)
  if (!config.roles.has('api')) return app

  await beforeRoutes?.(app)
  docsRoutes(app, context)
  accountRoutes(app, context)
  const limit = createLimit(config.rateLimits, context.now)
  const uploads = { contention: createContention(), limit }
  delegatedRoutes(app, context, uploads)
  tusRoutes(app, context, authenticator, uploads)
  playbackRoutes(app, context)
  collectorRoutes(app, context)
  await embedRoutes(app, context)
  await thumbnailPlaybackRoutes(app, context)
  await app.register(async (api) => {
    api.addHook('onRoute', (route) => {
      route.bodyLimit ??= bodyLimit
    })
    authenticateRequests(api as App, authenticator)
    limitRates(api as App, limit)
    apiRoutes(api as App, context, uploads)
  })
  return app
}

function logRequest(request: FastifyRequest, reply: FastifyReply): void {
  const line = {
    requestId: request.id,
    method: request.method,
    url: withoutSecrets(request.originalUrl),
    status: reply.statusCode,
    ms: Math.round(reply.elapsedTime * 10) / 10,
    ...(request.scope && { keyId: request.scope.keyId }),
  }
  request.log.info(line, 'request')
}

function authenticateRequests(app: App, authenticator: Authenticator): void {
  app.addHook('onRequest', async (request) => {
    request.scope = await authenticator.authenticate(
      request.headers.authorization,
      request.requiredEnvironment,
    )
  })
}

function limitRates(app: App, limit: Limit): void {
  app.addHook('onRequest', (request, reply, done) => {
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    const { rateClass = isRead ? 'reads' : 'writes' } = request.routeOptions.config
    limit(reply, request.scope.keyId, rateClass)
    done()
  })
}
