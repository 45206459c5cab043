// Writes openapi.json, and its schemas as types for the dashboard. Both files are committed and checked by a test. The
// app does not listen, so it needs no database.
import { writeFile } from 'node:fs/promises'
import { buildApp } from '../server/app.ts'
import type { Context } from '../server/context.ts'
import { describeRoutes, openapiDocument } from '../server/docs/describe.ts'
import type { App } from '../server/lib/http.ts'
import { createLog } from '../server/lib/log.ts'
import { createMetrics } from '../server/lib/metrics.ts'
import { createRateLimit } from '../server/lib/rate-limit.ts'
import { readConfig } from '../server/read-config.ts'
import { openSlices } from '../server/slices.ts'
import { writeApiTypes } from './api-types.ts'

/** Builds the app without anything that its routes use. `beforeRoutes` sees every route. */
export function buildRoutes(beforeRoutes: (app: App) => Promise<void>): Promise<App> {
  const unused = {} as never
  const context: Context = {
    config: readConfig({}),
    publicUrl: () => 'http://localhost:8080',
    db: unused,
    locks: unused,
    queue: unused,
    files: unused,
    space: unused,
    fetch: unused,
    secret: unused,
    log: createLog('silent', false),
    metrics: createMetrics([]),
    now: () => new Date(),
  }
  const slices = openSlices({
    ...context,
    isListening: () => false,
    localKeys: undefined,
    ports: () => undefined,
    settings: [],
  })
  return buildApp(context, {
    slices,
    keyedDb: unused,
    reads: unused,
    limit: createRateLimit(undefined),
    beforeRoutes,
  })
}

/** Returns the text of openapi.json for the current routes. */
export async function describeApi(): Promise<string> {
  const app = await buildRoutes(describeRoutes)
  await app.ready()
  const text = `${JSON.stringify(openapiDocument(app), null, 2)}\n`
  await app.close()
  return text
}

if (import.meta.main) {
  const text = await describeApi()
  await writeFile(new URL('../openapi.json', import.meta.url), text)
  await writeFile(new URL('../web/dashboard/api/schemas.ts', import.meta.url), writeApiTypes(text))
}
