import { readFile } from 'node:fs/promises'
import type { Context } from '../context.ts'
import type { App } from '../lib/http.ts'
import { iconSvg } from '../lib/icon.ts'
import { readVersion } from '../lib/version.ts'
import { pageHeaders } from './page.ts'
import { startPage } from './start-page.ts'

/**
 * Search engines see the player pages of public videos and what these load. Private ones contain `noindex`. The API needs
 * a key, and its documentation is the same for every installation.
 */
const robots = `User-agent: *
Allow: /vod/
Allow: /live/
Allow: /player/
Allow: /players/
Allow: /oembed
Allow: /favicon
Disallow: /
`

const iconFile = new URL('favicon.ico', import.meta.url)
const hidden = { schema: { hide: true } }
const cacheOneDay = 'public, max-age=86400'

/** What browsers and search engines request at the root of a site. */
export async function pageRoutes(app: App, { publicUrl }: Pick<Context, 'publicUrl'>): Promise<void> {
  const version = readVersion()
  const icon = await readFile(iconFile)
  app.get('/', hidden, (_request, reply) =>
    reply
      .headers({ ...pageHeaders, 'cache-control': 'no-cache' })
      .send(startPage({ publicUrl: publicUrl(), version })),
  )
  app.get('/favicon.svg', hidden, (_request, reply) =>
    reply.headers(fileHeaders('image/svg+xml')).send(iconSvg),
  )
  app.get('/favicon.ico', hidden, (_request, reply) =>
    reply.headers(fileHeaders('image/vnd.microsoft.icon')).send(icon),
  )
  app.get('/robots.txt', hidden, (_request, reply) =>
    reply.headers(fileHeaders('text/plain; charset=utf-8')).send(robots),
  )
}

const fileHeaders = (type: string) => ({
  'content-type': type,
  'cache-control': cacheOneDay,
  'x-content-type-options': 'nosniff',
})
