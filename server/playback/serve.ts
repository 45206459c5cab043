import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Access, type AccessRequest, accessDenied, checkAccess, openSession } from '../access/check.ts'
import type { Context } from '../context.ts'
import { notFound } from '../lib/errors.ts'
import type { App } from '../lib/http.ts'
import { isId } from '../lib/ids.ts'
import { videoMedium, videoPath } from '../videos/paths.ts'
import { type Content, sendContent } from './send.ts'
import type { Asset } from './store.ts'

export const cacheForever = 'public, max-age=31536000, immutable'
/** For URLs whose content may change with the video. */
export const cacheOneMinute = 'public, max-age=60'
/** Lets a cache in front answer all viewers of the same second. */
export const cacheOneSecond = 'public, max-age=1'

/** Players run on pages of any origin, and some read these headers. */
const cors = {
  methods: ['GET', 'HEAD'],
  allowedHeaders: 'range, if-range, if-none-match, accept, content-type, authorization',
  exposedHeaders:
    'accept-ranges, content-disposition, content-length, content-range, content-type, date, etag, x-request-id',
}

export type Params = { videoId: string; token?: string; rendition: string; file: string }

/** A kind of file that every video has. */
export type Media<A extends Asset, Loaded> = {
  /** Below the path of the video. */
  path: string
  /** Whether a request starts to play. */
  isStart?(request: FastifyRequest): boolean
  isPreview?: boolean
  /** A viewer whose session is new is redirected to the URL that contains it. */
  isProgressive?: boolean
  /** Finds the video, and as much of the file as the same statement can. Undefined when there is no such video. */
  find(params: Params): Promise<A | undefined>
  /** Called after the access check. Throws if there is no such file; undefined while nothing can be played yet. */
  load(asset: A, request: FastifyRequest): Loaded | undefined | Promise<Loaded | undefined>
  /** The content may contain URLs of the viewer. */
  render(loaded: Loaded, access: Access): Content
}

/** For errors and 202. Everything else sets its own cache-control. */
export const mediaHeaders = {
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'cross-origin',
  'timing-allow-origin': '*',
  // Captions contain what customers upload.
  'x-content-type-options': 'nosniff',
}

/** Serves a kind of file by its plain URL and by the URL with a token. */
export function serveMedia<A extends Asset, Loaded>(
  app: App,
  context: Context,
  media: Media<A, Loaded>,
): void {
  for (const base of [videoPath(':videoId'), `${videoPath(':videoId')}/token/:token`])
    routeMedia(app, `${base}/${media.path}`, (request, reply) => serve(context, media, request, reply))
}

export function routeMedia(
  app: App,
  url: string,
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
): void {
  app.route({
    method: ['GET', 'HEAD', 'OPTIONS'],
    url,
    config: {
      cors,
      secrets: ['token'],
      loggedQuery: ['dl', 'r', 'qualities', '_HLS_msn', '_HLS_part', '_HLS_skip'],
    },
    schema: { hide: true },
    handler(request: FastifyRequest, reply: FastifyReply) {
      reply.headers(mediaHeaders)
      return handler(request, reply)
    },
  })
}

async function serve<A extends Asset, Loaded>(
  context: Context,
  media: Media<A, Loaded>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const params = request.params as Params
  const { videoId, token } = params
  if (!isId('vi', videoId)) throw notFound('videoId')
  const asset = await media.find(params)
  if (!asset) throw notFound('videoId')

  const asked: AccessRequest = {
    request,
    medium: videoMedium({ id: videoId, environment: asset.environment, public: asset.public }),
    token,
    isStart: media.isStart?.(request) ?? false,
    isPreview: media.isPreview ?? false,
    isProgressive: media.isProgressive ?? false,
  }
  // Before the file is loaded: whether a private video has it is private as well.
  const grant = await checkAccess(context, asked)
  if (!grant) throw accessDenied(token)

  const loaded = await media.load(asset, request)
  if (loaded === undefined) return reply.code(202).send()

  const access = await openSession(context, reply, asked, grant)
  if (!access) throw accessDenied(token)
  if (access.isNew && media.isProgressive) return reply.redirect(withSession(request, access), 302)

  const content = media.render(loaded, access)
  const isShared = asset.public && token === undefined
  return sendContent(context, request, reply, isShared ? content : withoutSharedCaches(content))
}

/** Shared caches do not check who may see the content. */
export const withoutSharedCaches = (content: Content): Content => ({
  ...content,
  cacheControl: content.cacheControl.replace('public', 'private').replace(/, s-maxage=\d+/, ''),
})

/** Relative, so that it works behind any proxy. */
function withSession({ originalUrl }: FastifyRequest, { query }: Access): string {
  const [path = '', search = ''] = originalUrl.split('?')
  const rest = search.split('&').filter((pair) => /^[\w.~%[\]=-]+$/.test(pair) && !/^avh(=|$)/.test(pair))
  return [path.slice(path.lastIndexOf('/') + 1) + query, ...rest].join('&')
}
