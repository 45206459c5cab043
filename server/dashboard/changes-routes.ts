import type { App } from '../lib/http.ts'
import { Type } from '../lib/schema.ts'
import type { Changes } from './changes.ts'
import { environmentOf } from './environment.ts'

/** Changes as server-sent events. */
export function changesRoutes(app: App, { changes }: { changes: Changes }): void {
  const schema = { hide: true, params: Type.Object({ environment: Type.String() }) }
  app.get('/dashboard/changes/:environment', { schema, exposeHeadRoute: false }, async (request, reply) => {
    const environment = environmentOf(request.params)
    const isReconnect = request.headers['last-event-id'] !== undefined
    const body = await changes.open(environment, request.dashboardSession.id, isReconnect)
    // Without the second header, nginx would collect events before it sends them.
    reply.headers({ 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
    return reply.send(body)
  })
  app.addHook('preClose', async () => changes.close())
}
