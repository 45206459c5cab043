import { readFile } from 'node:fs/promises'
import type { Context } from '../context.ts'
import { errorKinds } from '../errors.ts'
import type { App } from '../lib/http.ts'
import { errorPage, referencePage, style } from './page.ts'

/**
 * Serves the committed openapi.json, which a test compares with the routes. Building it from the routes would delay every
 * start.
 */
export function docsRoutes(app: App, context: Pick<Context, 'publicUrl'>): void {
  const read = once(() => readFile(new URL('../../openapi.json', import.meta.url)))
  const reference = once(async () =>
    Buffer.from(referencePage(JSON.parse((await read()).toString()), context.publicUrl())),
  )

  const hidden = { schema: { hide: true } }
  const page = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy':
      "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  }

  app.get('/openapi.json', hidden, async (_request, reply) =>
    reply.header('content-type', 'application/json').send(await read()),
  )
  app.get('/docs', hidden, async (_request, reply) => reply.headers(page).send(await reference()))
  app.get('/docs/style.css', hidden, (_request, reply) => reply.type('text/css; charset=utf-8').send(style))
  app.get<{ Params: { slug: string } }>('/docs/errors/:slug', hidden, (request, reply) => {
    const { slug } = request.params
    const kind = errorKinds.find((each) => each.slug === slug)
    return kind ? reply.headers(page).send(errorPage(kind)) : reply.callNotFound()
  })
}

/** Builds the value at the first call. A failure is not cached. */
function once<T>(build: () => Promise<T>): () => Promise<T> {
  let built: Promise<T> | undefined
  return () => {
    built ??= build().catch((error) => {
      built = undefined
      throw error
    })
    return built
  }
}
