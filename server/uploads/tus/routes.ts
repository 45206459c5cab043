import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../context.ts'
import type { App } from '../../lib/http.ts'
import type { RateLimit } from '../../lib/rate-limit.ts'
import type { Authenticate } from '../../request.ts'
import type { UploadContext } from '../source/coordinator.ts'
import * as docs from './docs.ts'
import type { Tus } from './handler.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Replaces the options of @fastify/cors for one route. */
    cors?: object
  }
}

/** For clients in browsers. */
const cors = {
  methods: ['POST', 'HEAD', 'PATCH', 'DELETE', 'OPTIONS'],
  allowedHeaders:
    'authorization, content-type, tus-resumable, upload-length, upload-defer-length, upload-metadata, upload-offset, upload-checksum, x-http-method-override, x-requested-with, x-request-id',
  exposedHeaders:
    'location, tus-resumable, tus-version, tus-extension, tus-max-size, tus-checksum-algorithm, upload-offset, upload-length, upload-defer-length, upload-metadata, upload-expires, x-video-id, x-request-id, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-retry-after, retry-after',
  preflightContinue: true,
}

/** Whoever knows the id of an upload may continue it. */
const secrets = ['uploadId']

/** tus 1.0 (https://tus.io/protocols/resumable-upload) */
export function tusRoutes(
  app: App,
  context: Context & UploadContext & { authenticate: Authenticate; limit: RateLimit },
): void {
  const tus: Tus = {
    context,
    rateLimit: context.limit,
    authenticate: context.authenticate,
    activeRequests: new Map(),
  }
  // The request is handled before Fastify reads the body, because its parsers are made for small bodies.
  const common = {
    async onRequest(request: FastifyRequest, reply: FastifyReply) {
      // Loaded by the first tus request: @tus/server would add 0.1 s of CPU to every start.
      const { handleTus } = await import('./handler.ts')
      return handleTus(tus, request, reply)
    },
    handler() {},
  }
  const route = (method: string, url: string, description: object) =>
    app.route({
      method,
      url,
      ...common,
      config: {
        cors,
        secrets,
        described: description,
        isInDashboard: true,
        swagger: { exposeHeadRoute: true },
      } as object,
    })
  route('POST', '/tus', docs.creation)
  route('HEAD', '/tus/:uploadId', docs.offset)
  route('PATCH', '/tus/:uploadId', docs.patch)
  route('DELETE', '/tus/:uploadId', docs.termination)
  const hidden = { ...common, config: { cors, secrets, isInDashboard: true }, schema: { hide: true } }
  app.route({ method: 'OPTIONS', url: '/tus', ...hidden })
  // POST with X-HTTP-Method-Override replaces PATCH and DELETE.
  app.route({ method: ['POST', 'OPTIONS'], url: '/tus/:uploadId', ...hidden })
}
