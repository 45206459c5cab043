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

  const checks = {
    database: () => isReachable(sql`select 1`.execute(db)),
    files: () => isReachable(files.check()),
  }
  app.get('/readyz', { schema: { hide: true }, logLevel: 'silent' }, async (request, reply) => {
    if (app.isStopping) return reply.code(503).send({ status: 'stopping' })
    // Proxies exclude what all processes share. Otherwise they would have none left while it is unreachable.
    const { exclude = [] } = request.query as { exclude?: string[] }
    const excluded = exclude.flatMap((names) => names.split(','))
    const states = await Promise.all(
      Object.entries(checks)
        .filter(([name]) => !excluded.includes(name))
        .map(async ([name, check]) => [name, (await check()) ? 'reachable' : 'unreachable']),
    )
    const isReady = states.every(([, state]) => state === 'reachable')
    const status = isReady ? 'ready' : 'not ready'
    return reply.code(isReady ? 200 : 503).send({ status, ...Object.fromEntries(states) })
  })

  app.get(
    '/metrics',
    { schema: { hide: true, response: { 200: Type.String() } }, logLevel: 'silent' },
    async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()),
  )
}
