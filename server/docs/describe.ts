import swagger from '@fastify/swagger'
import type { App } from '../lib/http.ts'
import { completeDocument, type Document, openapi } from './openapi.ts'

/** Collects the routes that are registered after it. */
export async function describeRoutes(app: App): Promise<void> {
  await app.register(swagger, {
    openapi: openapi as never,
    transform: ({ schema, url, route }) => ({ schema: { ...schema, ...route.config?.described }, url }),
    refResolver: { buildLocalReference: (json, _uri, _fragment, i) => String(json.$id ?? `def-${i}`) },
  })
}

/** The OpenAPI document of the collected routes. */
export const describedBy = (app: App): Document => completeDocument(app.swagger() as unknown as Document)
