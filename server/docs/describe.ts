import swagger from '@fastify/swagger'
import type { App } from '../lib/http.ts'
import { completeDocument, type Document, openapi } from './openapi.ts'

/** Has to run before the routes are registered. */
export async function describeRoutes(app: App): Promise<void> {
  await app.register(swagger, {
    openapi: openapi as never,
    transform: ({ schema, url, route }) => ({ schema: { ...schema, ...route.config?.described }, url }),
    refResolver: { buildLocalReference: (json, _uri, _fragment, i) => String(json.$id ?? `def-${i}`) },
  })
}

/** Returns the OpenAPI document of the registered routes. */
export const openapiDocument = (app: App): Document => completeDocument(app.swagger() as unknown as Document)
