// Writes openapi.json, which is committed and checked by a test: what GET /openapi.json serves. The app is built
// but does not listen, so no database is needed.
import { writeFile } from 'node:fs/promises'
import type { Authenticator } from '../server/accounts/authenticate.ts'
import { buildApp } from '../server/app.ts'
import { readConfig } from '../server/config.ts'
import type { Context } from '../server/contracts/context.ts'
import { createLog } from '../server/lib/log.ts'
import { createMetrics } from '../server/lib/metrics.ts'

const unused = {} as never
const context: Context = {
  config: readConfig({}),
  publicUrl: 'http://localhost:8080',
  db: unused,
  queue: unused,
  files: unused,
  fetch: unused,
  secret: unused,
  log: createLog('silent', false),
  now: () => new Date(),
}
const authenticator: Authenticator = unused
const app = await buildApp(
  context,
  authenticator,
  createMetrics({ totalCount: 0, idleCount: 0, waitingCount: 0 }),
)
const { statusCode, body } = await app.inject('/openapi.json')
if (statusCode !== 200) throw new Error(`GET /openapi.json answered ${statusCode}: ${body}`)
await writeFile(new URL('../openapi.json', import.meta.url), `${body}\n`)
await app.close()
