import type { FastifyRequest } from 'fastify'
import { hashSecret } from '../../accounts/keys.ts'
import type { Context } from '../../context.ts'
import { unauthenticated } from '../../lib/errors.ts'
import { escapeHtml } from '../../lib/html.ts'
import type { App } from '../../lib/http.ts'
import { iconDataUrl } from '../../lib/icon.ts'
import { isId, randomWord } from '../../lib/ids.ts'
import { Type } from '../../lib/schema.ts'
import { livePath } from '../../live-streams/paths.ts'
import { requestEnd, type StoredLiveStream } from '../../live-streams/store.ts'
import { type Entry, loadStudioEntry } from '../../players/assets.ts'
import { listRecordings } from '../output/recording/store.ts'
import { studioErrors } from './errors.ts'
import * as store from './store.ts'

const hidden = { hide: true }
const base = `${livePath(':liveStreamId')}/studio`
/** Longer than any broadcast of one person. */
const sessionMs = 12 * 3_600_000

/** Any site may embed the page, which can do nothing without a token. */
const policy = [
  `default-src 'none'`,
  `script-src 'self'`,
  `style-src 'self' 'unsafe-inline'`,
  `img-src 'self' data:`,
  `media-src 'self' blob:`,
  `connect-src 'self'`,
  `base-uri 'none'`,
  `form-action 'none'`,
].join('; ')

type Params = { Params: { liveStreamId: string } }

/** The page from which a browser broadcasts, and what it asks for. */
export async function studioPageRoutes(app: App, { db, now }: Pick<Context, 'db' | 'now'>): Promise<void> {
  const html = studioPage(await loadStudioEntry())
  app.get(base, { schema: hidden }, (_request, reply) =>
    reply
      .headers({
        'content-security-policy': policy,
        'permissions-policy': 'camera=(self), microphone=(self), display-capture=(self)',
        // The URL contains a token.
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-cache',
      })
      .type('text/html; charset=utf-8')
      .send(html),
  )

  const body = Type.Object({ token: Type.String({ maxLength: 100 }) })
  app.post(`${base}/session`, { schema: { ...hidden, body } }, async (request, reply) => {
    const { liveStreamId } = request.params as Params['Params']
    const session = randomWord(32)
    const time = now()
    const ids = { tokenHash: hashSecret(request.body.token), liveStreamId }
    const expiresAt = new Date(time.getTime() + sessionMs)
    const change = { sessionHash: hashSecret(session), expiresAt, now: time }
    const isOpened = isId('li', liveStreamId) && (await store.openSession(db, ids, change))
    if (!isOpened) throw unauthenticated(studioErrors.invalidToken)
    return reply.header('cache-control', 'no-store').send({ session })
  })

  const find = async (request: FastifyRequest): Promise<StoredLiveStream> => {
    const { liveStreamId } = request.params as Params['Params']
    const [, session] = /^Bearer +(\S{1,200})$/i.exec(request.headers.authorization ?? '') ?? []
    const stream = session && (await store.findBySession(db, hashSecret(session), now()))
    if (!stream || stream.id !== liveStreamId) throw unauthenticated(studioErrors.invalidToken)
    return stream
  }

  app.get(`${base}/state`, { schema: hidden }, async (request, reply) => {
    const stream = await find(request)
    const latest = await store.findLatestBroadcast(db, stream.id)
    const recordings = latest ? await listRecordings(db, [latest.id]) : []
    const [recording] = recordings
    return reply.header('cache-control', 'no-store').send({
      name: stream.name,
      broadcast: latest ?? null,
      refusal: stream.last_refusal,
      recording: recording && {
        state: recording.state,
        // The session gives no access to private videos.
        path: stream.public && recording.videoId ? `/vod/${recording.videoId}` : null,
      },
    })
  })

  app.post(`${base}/end`, { schema: hidden }, async (request, reply) => {
    const { id } = await find(request)
    await requestEnd(db, id)
    return reply.code(202).send()
  })
}

function studioPage(entry: Entry | undefined): string {
  const tags = entry
    ? [
        ...entry.styles.map((href) => `<link rel="stylesheet" href="${escapeHtml(href)}">`),
        ...entry.imports.map((href) => `<link rel="modulepreload" href="${escapeHtml(href)}">`),
        `<script type="module" src="${escapeHtml(entry.script)}"></script>`,
      ]
    : []
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">',
    '<meta name="color-scheme" content="dark">',
    '<meta name="robots" content="noindex">',
    '<title>Go live</title>',
    `<link rel="icon" href="${escapeHtml(iconDataUrl)}">`,
    ...tags,
    '</head>',
    '<body>',
    '<noscript>This page needs JavaScript.</noscript>',
    ...(entry
      ? []
      : ['<p>The studio has not been built: stop the service and run <code>npm start</code>.</p>']),
    '</body>',
    '</html>',
    '',
  ].join('\n')
}
