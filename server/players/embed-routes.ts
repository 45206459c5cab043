import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../context.ts'
import { checkPlayable } from '../encoding/renditions/playable.ts'
import { notFound } from '../lib/errors.ts'
import type { App } from '../lib/http.ts'
import { isId } from '../lib/ids.ts'
import { playerSize } from '../videos/iframe.ts'
import { videoKind, videoPath } from '../videos/paths.ts'
import { assetRoutes, loadPlayer } from './assets.ts'
import { emptyConfig, videoConfig } from './config.ts'
import { logoType } from './logo.ts'
import { oembedRoute } from './oembed.ts'
import { openPage } from './page-access.ts'
import { closedPage, noCache, type Page, pageSender, sharedCache } from './send-page.ts'
import { findLogo, findPage } from './store.ts'

const hidden = { schema: { hide: true } }

/** The player pages of videos, their assets, and oEmbed. The same for both environments. */
export async function embedRoutes(app: App, context: Context): Promise<void> {
  const assets = await loadPlayer(context.log)
  assetRoutes(app, assets)
  oembedRoute(app, context)
  logoRoute(app, context)

  const { sendPage, sendConfig } = pageSender(context, assets.entry)
  app.get(videoPath(':videoId'), hidden, async (request, reply) =>
    sendPage(request, reply, await loadPage(context, request, reply)),
  )
  app.get(`${videoPath(':videoId')}/config.json`, hidden, async (request, reply) =>
    sendConfig(reply, await loadPage(context, request, reply)),
  )
}

async function loadPage(context: Context, request: FastifyRequest, reply: FastifyReply): Promise<Page> {
  const { videoId } = request.params as { videoId: string }
  // An invalid id is not repeated in the page.
  if (!isId('vi', videoId)) return closedPage(emptyConfig({ videoId: '', type: 'vod' }, 'missing'))
  const row = await findPage(context.db, videoId)
  if (!row) return closedPage(emptyConfig({ videoId, type: 'vod' }, 'missing'))

  const media = { kind: videoKind, ...row }
  const opened = await openPage(context, request, reply, media, checkPlayable(row).state === 'ready')
  if (!opened) return closedPage(emptyConfig({ videoId, type: 'vod' }, 'private'))

  const config = videoConfig(row, opened.isOpen ? opened.access : undefined, opened.token)
  return {
    config,
    preview: row.public ? { description: row.description, size: playerSize(row) } : undefined,
    cacheControl: row.public && config.state === 'ready' ? sharedCache : noCache,
  }
}

function logoRoute(app: App, { db }: Context): void {
  app.get('/players/:playerId/logo/:file', hidden, async (request, reply) => {
    const { playerId, file } = request.params as { playerId: string; file: string }
    if (!isId('pl', playerId)) throw notFound('playerId')
    const logo = /^[0-9a-f]{16}\.(?:png|jpg)$/.test(file) ? await findLogo(db, playerId, file) : undefined
    if (!logo) throw notFound('file')
    reply.headers({
      'cache-control': 'public, max-age=31536000, immutable',
      // A browser must not run the file, whatever it contains.
      'content-security-policy': "default-src 'none'; sandbox",
      'cross-origin-resource-policy': 'cross-origin',
      'x-content-type-options': 'nosniff',
    })
    return reply.type(logoType(file)).send(logo)
  })
}
