import swagger from '@fastify/swagger'
import type { Context } from '../contracts/context.ts'
import { errorKinds } from '../lib/errors.ts'
import type { App } from '../lib/http.ts'
import { completeDocument, type Document, openapi } from './openapi.ts'
import { errorPage, referencePage, style } from './page.ts'

/** Registered ahead of the routes that it describes. */
export async function docsRoutes(app: App, context: Pick<Context, 'publicUrl'>): Promise<void> {
  await app.register(swagger, {
    openapi: openapi as never,
    transform: ({ schema, url, route }) => ({ schema: { ...schema, ...route.config?.described }, url }),
    refResolver: { buildLocalReference: (json, _uri, _fragment, i) => String(json.$id ?? `def-${i}`) },
  })

  // Each is made when it is first asked for, and once: the routes do not change, and all of a page would be kept in
  // memory for every client that is slow to read it.
  const describe = once(() => completeDocument(app.swagger() as unknown as Document))
  const json = once(() => Buffer.from(JSON.stringify(describe(), null, 2)))
  const reference = once(() => Buffer.from(referencePage(describe(), context.publicUrl)))
  const stylesheet = Buffer.from(style)

  const hidden = { schema: { hide: true } }
  const page = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy':
      "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  }

  app.get('/', hidden, (_request, reply) => reply.redirect('/docs'))
  app.get('/openapi.json', hidden, (_request, reply) =>
    reply.header('content-type', 'application/json').send(json()),
  )
  app.get('/docs', hidden, (_request, reply) => reply.headers(page).send(reference()))
  app.get('/docs/style.css', hidden, (_request, reply) =>
    reply.type('text/css; charset=utf-8').send(stylesheet),
  )
  app.get<{ Params: { slug: string } }>('/docs/errors/:slug', hidden, (request, reply) => {
    const { slug } = request.params
    return Object.hasOwn(errorKinds, slug)
      ? reply.headers(page).send(errorPage(slug as keyof typeof errorKinds))
      : reply.callNotFound()
  })
}

function once<T extends object>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}
