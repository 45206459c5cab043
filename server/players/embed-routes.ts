import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { checkAccess } from '../access/check.ts'
import type { Context } from '../context.ts'
import { notFound } from '../lib/errors.ts'
import type { App } from '../lib/http.ts'
import { isId } from '../lib/ids.ts'
import { assetRoutes, loadAssets } from './assets.ts'
import { emptyConfig, type PlayerConfig, sizeOf, stateOf, videoConfig } from './config.ts'
import { logoType } from './logo.ts'
import { oembedRoute } from './oembed.ts'
import { contentPolicy, type Preview, playerPage } from './page.ts'
import { findLogo, findPage } from './store.ts'

const statuses: Partial<Record<PlayerConfig['state'], number>> = { missing: 404, private: 403 }

/** Of public videos that play. Browsers ask each time whether it has changed, a cache between asks once a minute. */
const shared = 'public, max-age=0, s-maxage=60'

type Found = { config: PlayerConfig; preview: Preview | undefined; cacheControl: string }

/** What viewers open: players, what they are made of, and what tells of them. The same for both environments. */
export async function embedRoutes(app: App, context: Context): Promise<void> {
  const { config, db, log } = context
  const assets = await loadAssets(log)
  const policy = contentPolicy(config.s3?.isRedirecting ? new URL(config.s3.endpoint).origin : undefined)
  const hidden = { schema: { hide: true } }

  assetRoutes(app, assets)
  oembedRoute(app, context)

  async function find(request: FastifyRequest, reply: FastifyReply): Promise<Found> {
    const { videoId } = request.params as { videoId: string }
    const row = isId('vi', videoId) ? await findPage(db, videoId) : undefined
    // An id that cannot be one is not repeated to anybody.
    if (!row)
      return closed(emptyConfig({ videoId: isId('vi', videoId) ? videoId : '', type: 'vod' }, 'missing'))
    // Not checked by a schema, it is a list of what was given.
    const { token } = request.query as { token?: string[] }
    const asked = { token: (!row.public && token?.[0]) || undefined, isStart: true }
    const permit = await checkAccess(context, request, reply, row, asked)
    // As long as there is nothing to play, no token is used up.
    const isOpened = permit?.isFree || stateOf(row) === 'ready'
    const access = isOpened ? await permit?.open() : undefined
    if (!permit || (isOpened && !access)) return closed(emptyConfig({ videoId, type: 'vod' }, 'private'))
    const found = videoConfig(row, access, asked.token)
    return {
      config: found,
      preview: row.public ? { description: row.description, size: sizeOf(row.plan) } : undefined,
      cacheControl: row.public && found.state === 'ready' ? shared : 'private, no-store',
    }
  }

  function sendPage(request: FastifyRequest, reply: FastifyReply, { config, preview, cacheControl }: Found) {
    const html = playerPage({ config, preview, publicUrl: context.publicUrl(), entry: assets.entry })
    const etag = `"${hash('sha256', html, 'base64url').slice(0, 22)}"`
    reply.headers({
      'cache-control': cacheControl,
      'content-security-policy': policy,
      // Its address may hold a token, which is nobody else's business.
      'referrer-policy': 'strict-origin',
      'x-content-type-options': 'nosniff',
    })
    if (cacheControl === shared) {
      reply.header('etag', etag)
      if (request.headers['if-none-match']?.includes(etag)) return reply.code(304).send()
    }
    return reply
      .code(statuses[config.state] ?? 200)
      .type('text/html; charset=utf-8')
      .send(html)
  }

  app.get('/vod/:videoId', hidden, async (request, reply) =>
    sendPage(request, reply, await find(request, reply)),
  )

  app.get('/vod/:videoId/config.json', hidden, async (request, reply) => {
    const { config } = await find(request, reply)
    reply.headers({ 'cache-control': 'private, no-store', 'x-content-type-options': 'nosniff' })
    return reply.code(statuses[config.state] ?? 200).send(config)
  })

  app.get('/live/:liveStreamId', hidden, (request, reply) =>
    sendPage(request, reply, closed(emptyConfig({ videoId: '', type: 'live' }, 'missing'))),
  )

  app.get('/players/:playerId/logo/:file', hidden, async (request, reply) => {
    const { playerId, file } = request.params as { playerId: string; file: string }
    if (!isId('pl', playerId)) throw notFound('playerId')
    const logo = /^[0-9a-f]{16}\.(?:png|jpg)$/.test(file) ? await findLogo(db, playerId, file) : undefined
    if (!logo) throw notFound('file')
    reply.headers({
      'cache-control': 'public, max-age=31536000, immutable',
      // Whatever else the bytes may be, a browser takes them for a picture.
      'content-security-policy': "default-src 'none'; sandbox",
      'cross-origin-resource-policy': 'cross-origin',
      'x-content-type-options': 'nosniff',
    })
    return reply.type(logoType(file)).send(logo)
  })
}

const closed = (config: PlayerConfig): Found => ({
  config,
  preview: undefined,
  cacheControl: 'private, no-store',
})
