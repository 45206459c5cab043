import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../context.ts'
import { etagOf, matchesEtag } from '../lib/etag.ts'
import type { Entry } from './assets.ts'
import type { PlayerConfig } from './config.ts'
import { contentPolicy, type Preview, playerPage } from './page.ts'

/** A player page for one viewer. */
export type Page = { config: PlayerConfig; preview: Preview | undefined; cacheControl: string }

/** For public videos that play. Browsers revalidate each time, a shared cache once a minute. */
export const sharedCache = 'public, max-age=0, s-maxage=60'
export const noCache = 'private, no-store'

const statuses: Partial<Record<PlayerConfig['state'], number>> = { missing: 404, private: 403 }

/** The page tells nothing but its state. */
export const closedPage = (config: PlayerConfig): Page => ({
  config,
  preview: undefined,
  cacheControl: noCache,
})

/** Sends a player page as HTML, or only its configuration. */
export function pageSender({ config, publicUrl }: Context, entry: Entry | undefined) {
  const policy = contentPolicy(config.s3?.isRedirecting ? new URL(config.s3.endpoint).origin : undefined)
  return {
    sendPage(request: FastifyRequest, reply: FastifyReply, page: Page): FastifyReply {
      const { cacheControl, preview } = page
      const html = playerPage({ config: page.config, preview, publicUrl: publicUrl(), entry })
      reply.headers({
        'cache-control': cacheControl,
        'content-security-policy': policy,
        // The URL may contain a token, which other sites must not see.
        'referrer-policy': 'strict-origin',
        'x-content-type-options': 'nosniff',
      })
      if (cacheControl === sharedCache) {
        const etag = etagOf(html)
        reply.header('etag', etag)
        if (matchesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send()
      }
      return reply
        .code(statuses[page.config.state] ?? 200)
        .type('text/html; charset=utf-8')
        .send(html)
    },
    sendConfig(reply: FastifyReply, { config }: Page): FastifyReply {
      reply.headers({ 'cache-control': noCache, 'x-content-type-options': 'nosniff' })
      return reply.code(statuses[config.state] ?? 200).send(config)
    },
  }
}
