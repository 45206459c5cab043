import type { App } from '../lib/http.ts'
import type { OpenContext, Slice } from '../slice.ts'
import { protectDashboardApi } from './api-access.ts'
import * as attempts from './attempt-store.ts'
import { Changes } from './changes.ts'
import { changesRoutes } from './changes-routes.ts'
import { dashboardErrors } from './errors.ts'
import { authorize, isRead } from './guard.ts'
import { keyRoutes } from './key-routes.ts'
import * as links from './link-store.ts'
import { loginRoutes, sessionRoutes } from './login-routes.ts'
import { dashboardPageRoutes } from './page-routes.ts'
import * as sessions from './session-store.ts'
import { requireSession, type Session } from './sessions.ts'
import { systemRoutes } from './system-routes.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set on every route of the dashboard that needs a session. */
    dashboardSession: Session
  }
}

export const dashboard: Slice = {
  errors: dashboardErrors,
  hooks: protectDashboardApi,
  tasks: [
    {
      name: 'remove expired logins',
      everyMs: 3_600_000,
      async run({ db, now }) {
        for (const { deleteExpired } of [sessions, links, attempts]) await deleteExpired(db, now())
      },
    },
  ],
  open(context) {
    const changes = new Changes(context)
    return {
      ...(context.config.roles.has('api') && { channels: changes.channels }),
      async publicRoutes(app) {
        loginRoutes(app, context)
        await app.register(async (scope) => protectedRoutes(scope as App, { ...context, changes }))
        await dashboardPageRoutes(app, context)
      },
    }
  },
}

function protectedRoutes(app: App, context: OpenContext & { changes: Changes }): void {
  app.decorateRequest('dashboardSession')
  app.addHook('onRequest', async (request, reply) => {
    request.dashboardSession = await authorize(context, request, reply)
  })
  // The body may arrive long after the headers, and the session may have been ended in the meantime.
  app.addHook('preHandler', async (request, reply) => {
    if (!isRead(request)) request.dashboardSession = await requireSession(context, request, reply)
  })
  sessionRoutes(app, context)
  keyRoutes(app, context)
  changesRoutes(app, context)
  systemRoutes(app, context)
}
