import { sql } from 'kysely'
import type { Context } from '../context.ts'
import type { App } from '../lib/http.ts'
import { isReachable } from '../lib/reachable.ts'
import { Type } from '../lib/schema.ts'

export function operationsRoutes(
  app: App,
  { db, files, metrics }: Pick<Context, 'db' | 'files' | 'metrics'>,
): void {
  app.get('/healthz', { schema: { hide: true }, logLevel: 'silent' }, () => ({ status: 'alive' }))

  app.get('/readyz', { schema: { hide: true }, logLevel: 'silent' }, async (_request, reply) => {
    const [database, store] = await Promise.all([
      isReachable(sql`select 1`.execute(db)),
      isReachable(files.check()),
    ])
    const isReady = database && store
    return reply.code(isReady ? 200 : 503).send({
      status: isReady ? 'ready' : 'not ready',
      database: database ? 'reachable' : 'unreachable',
      files: store ? 'reachable' : 'unreachable',
    })
  })

  app.get(
    '/metrics',
    { schema: { hide: true, response: { 200: Type.String() } }, logLevel: 'silent' },
    async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()),
  )
}
