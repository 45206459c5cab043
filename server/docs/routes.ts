import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Asset, cacheControlOf, loadAssets, revalidate, sendAsset, textAsset } from '../lib/assets.ts'
import { ApiError, httpErrors } from '../lib/errors.ts'
import type { App } from '../lib/http.ts'
import type { OpenContext } from '../slice.ts'
import { errorListPage, errorPage } from './error-pages.ts'
import { themeScriptSource } from './frame.ts'
import { loadSite, type Site } from './site.ts'

const html = 'text/html; charset=utf-8'
const shared = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
const own = `default-src 'none'; script-src 'self' ${themeScriptSource}; connect-src 'self'; font-src 'self'`
const policy = `${own}; style-src 'self'; img-src 'self'; ${shared}`
/** Scalar adds style elements and style attributes. It runs without eval and without other hosts. */
const scalarPolicy = `${own}; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; ${shared}`

const hidden = { schema: { hide: true } }

/**
 * Serves the committed openapi.json, which a test compares with the routes. Building it from the routes would delay every
 * start. Everything else is loaded and made at the first request, too.
 */
export function docsRoutes(app: App, context: Pick<OpenContext, 'publicUrl' | 'errorKinds'>): void {
  const site = once(() => loadSite())
  const read = once(() => readFile(new URL('../../openapi.json', import.meta.url), 'utf8'))
  const openapi = once(async () => textAsset('application/json', await read()))
  const plain = once(async () => {
    const { referencePage } = await import('./page.ts')
    return textAsset(html, referencePage(await site(), JSON.parse(await read()), context))
  })
  const forReference = once(async () => {
    const { referenceDocument } = await import('./reference-document.ts')
    const document = referenceDocument(JSON.parse(await read()), context.publicUrl())
    return textAsset('application/json', JSON.stringify(document))
  })
  const reference = once(async () => {
    const { scriptedReference } = await import('./reference.ts')
    return textAsset(html, scriptedReference(await site()))
  })
  const guideTexts = once(async () => (await import('./guides.ts')).loadGuides(context.publicUrl()))
  const guides = once(async () => {
    const { renderGuides } = await import('./guide-pages.ts')
    return renderGuides(await site(), await guideTexts())
  })
  const search = once(async () => {
    const { searchIndex } = await import('./search-index.ts')
    const index = searchIndex(await guideTexts(), JSON.parse(await read()), context.errorKinds)
    return textAsset('application/json', JSON.stringify(index))
  })
  const images = once(() => loadAssets(fileURLToPath(new URL('../../docs/images', import.meta.url))))

  const sendPage = (request: FastifyRequest, reply: FastifyReply, page: Asset, contentPolicy = policy) =>
    sendAsset(request, reply.header('content-security-policy', contentPolicy), page, revalidate)

  app.get('/openapi.json', hidden, async (request, reply) =>
    sendAsset(request, reply, await openapi(), revalidate),
  )
  app.get('/docs/openapi.json', hidden, async (request, reply) =>
    sendAsset(request, reply, await forReference(), revalidate),
  )
  app.get('/docs/search.json', hidden, async (request, reply) =>
    sendAsset(request, reply, await search(), revalidate),
  )
  app.get('/docs', hidden, async (request, reply) => {
    const { referenceTags } = await site()
    if (!referenceTags) return sendPage(request, reply, await plain())
    return sendPage(request, reply, await reference(), scalarPolicy)
  })
  app.get('/docs/plain', hidden, async (request, reply) => sendPage(request, reply, await plain()))
  app.get<{ Params: { name: string } }>('/docs/assets/:name', hidden, async (request, reply) => {
    const { name } = request.params
    const asset = (await site()).files.get(name)
    if (!asset) throw new ApiError(httpErrors.unknownUrl)
    return sendAsset(request, reply, asset, cacheControlOf(name))
  })
  app.get('/docs/guides', hidden, async (request, reply) => sendPage(request, reply, (await guides()).index))
  app.get<{ Params: { name: string } }>('/docs/guides/:name', hidden, async (request, reply) => {
    const guide = (await guides()).pages.get(request.params.name)
    return guide ? sendPage(request, reply, guide) : reply.callNotFound()
  })
  app.get<{ Params: { name: string } }>('/docs/images/:name', hidden, async (request, reply) => {
    const image = (await images()).get(request.params.name)
    return image ? sendAsset(request, reply, image, revalidate) : reply.callNotFound()
  })
  const sendError = async (reply: FastifyReply, render: (site: Site) => string) =>
    reply.headers({ 'content-type': html, 'content-security-policy': policy }).send(render(await site()))
  const kinds = context.errorKinds
  app.get('/docs/errors', hidden, (_request, reply) => sendError(reply, (site) => errorListPage(site, kinds)))
  app.get<{ Params: { slug: string } }>('/docs/errors/:slug', hidden, (request, reply) => {
    const kind = kinds.find(({ slug }) => slug === request.params.slug)
    return kind ? sendError(reply, (site) => errorPage(site, kind)) : reply.callNotFound()
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
