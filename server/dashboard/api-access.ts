import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../context.ts'
import type { Environment } from '../environments.ts'
import { ApiError, httpErrors } from '../lib/errors.ts'
import type { App } from '../lib/http.ts'
import { authorize, isRead } from './guard.ts'
import { requireSession } from './sessions.ts'

type Deps = Pick<Context, 'config' | 'db' | 'now' | 'publicUrl' | 'secret'>

/**
 * Protects everything below /dashboard/api. The hook runs for every request of the app, also without a route, so that
 * no route is reachable there without a session.
 */
export function protectDashboardApi(app: App, deps: Deps): void {
  const admit = async (request: FastifyRequest, reply: FastifyReply, environment: Environment) => {
    const { id } = await authorize(deps, request, reply)
    request.sessionScope = { environment, keyId: id }
    // Pages and public files are not part of it. A missing route has its own error.
    const { config } = request.routeOptions
    if (!request.is404 && !config.isInDashboard) throw new ApiError(httpErrors.unknownUrl)
  }
  app.addHook('onRequest', (request, reply, done) => {
    const { dashboardEnvironment } = request
    if (dashboardEnvironment === undefined) return done()
    admit(request, reply, dashboardEnvironment).then(() => done(), done)
  })
  // The body may arrive long after the headers, and the session may have been ended in the meantime.
  app.addHook('preHandler', (request, reply, done) => {
    if (request.dashboardEnvironment === undefined || isRead(request)) return done()
    requireSession(deps, request, reply).then(() => done(), done)
  })
}
