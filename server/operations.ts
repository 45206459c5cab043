import { sql } from 'kysely'
import type { Context } from './context.ts'
import type { App } from './lib/http.ts'
import type { Metrics } from './lib/metrics.ts'
import { Type } from './lib/schema.ts'

const checkWithinMs = 3_000

/** Every process answers these, whatever its roles. */
export function operationsRoutes(
  app: App,
  { db, files }: Pick<Context, 'db' | 'files'>,
  metrics: Metrics,
): void {
  app.get('/healthz', { schema: { hide: true }, logLevel: 'silent' }, () => ({ status: 'alive' }))

  app.get('/readyz', { schema: { hide: true }, logLevel: 'silent' }, async (_request, reply) => {
    const [database, store] = await Promise.all([answers(sql`select 1`.execute(db)), answers(files.check())])
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

async function answers(work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((done) => {
    timer = setTimeout(() => done(false), checkWithinMs)
  })
  const result = await Promise.race([work.then(() => true).catch(() => false), late])
  clearTimeout(timer)
  return result
}
