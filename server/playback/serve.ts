import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Access, checkAccess, refusal } from '../access/check.ts'
import type { Context } from '../context.ts'
import { notFound } from '../lib/errors.ts'
import type { App } from '../lib/http.ts'
import { isId } from '../lib/ids.ts'
import { type Content, sendContent } from './send.ts'

export const forEver = 'public, max-age=31536000, immutable'
/** The addresses stay when a video is changed: a player may be told late, but not for long. */
export const forAMinute = 'public, max-age=60'
/** One reader for all viewers who come in the same second, where there is a cache between. */
export const forASecond = 'public, max-age=1'

/** Players run on pages of any origin and want to see what they got. */
const cors = {
  methods: ['GET', 'HEAD'],
  allowedHeaders: 'range, if-range, if-none-match, accept, content-type, authorization',
  exposedHeaders:
    'accept-ranges, content-disposition, content-length, content-range, content-type, date, etag, x-request-id',
}

export type Params = { videoId: string; token?: string; rendition: string; file: string }

/** A video that was looked up together with what is asked of it, by one statement. */
export type Found = {
  public: boolean
  /**
   * Called once it is clear that the viewer may know. Throws where there is nothing; undefined as long as there is
   * nothing yet, which uses up no token. What is given out may depend on the viewer's addresses.
   */
  prepare(): Make | undefined | Promise<Make | undefined>
}
export type Make = (access: Access) => Content

export type Media = {
  /** Below the video. */
  path: string
  /** Undefined: there is no such video. */
  find(request: FastifyRequest, params: Params): Promise<Found | undefined>
  /** Whether it begins a viewing. By itself it goes on with one. */
  isStart?(request: FastifyRequest): boolean
  /** Looking at a picture is no viewing yet: it needs a token, but does not use it up. */
  isGlance?: boolean
  /** One address is asked for many times, so it must hold the session: who opens one is sent there. */
  isRepeated?: boolean
}

/** Of errors and of what is not there yet; what is there says for how long it holds. */
export const mediaHeaders = {
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'cross-origin',
  'timing-allow-origin': '*',
}

/**
 * Serves a kind of file of every video, by its plain address and by the one with a token. Who may have it is asked
 * here, for every file.
 */
export function serveMedia(app: App, context: Context, media: Media): void {
  for (const base of ['/vod/:videoId', '/vod/:videoId/token/:token'])
    routeMedia(app, `${base}/${media.path}`, (request, reply) => answer(context, media, request, reply))
}

export function routeMedia(
  app: App,
  url: string,
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
): void {
  app.route({
    method: ['GET', 'HEAD', 'OPTIONS'],
    url,
    config: { cors },
    schema: { hide: true },
    handler(request: FastifyRequest, reply: FastifyReply) {
      reply.headers(mediaHeaders)
      return handler(request, reply)
    },
  })
}

async function answer(
  context: Context,
  media: Media,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const params = request.params as Params
  const { videoId, token } = params
  if (!isId('vi', videoId)) throw notFound('videoId')
  const found = await media.find(request, params)
  if (!found) throw notFound('videoId')
  const permit = await checkAccess(
    context,
    request,
    reply,
    { id: videoId, public: found.public },
    {
      token,
      isStart: media.isStart?.(request) ?? false,
      isGlance: media.isGlance ?? false,
      isRepeated: media.isRepeated ?? false,
    },
  )
  // What a private video has, or whether it has anything, is told to nobody else.
  if (!permit) throw refusal(token)
  const make = await found.prepare()
  if (!make) return reply.code(202).send()
  const access = await permit.open()
  if (!access) throw refusal(token)
  if (access.isNew && media.isRepeated) return reply.redirect(withSession(request, access), 302)
  const content = make(access)
  const isShared = found.public && token === undefined
  const mine = isShared ? content : { ...content, cacheControl: forOne(content) }
  return sendContent(context, request, reply, mine)
}

/** Not for caches that many share: they do not ask who may have it. */
const forOne = ({ cacheControl }: Content) => cacheControl.replace('public', 'private')

/** Relative, so that it holds behind whatever stands before the service. */
function withSession({ originalUrl }: FastifyRequest, { query }: Access): string {
  const [path = '', search = ''] = originalUrl.split('?')
  const rest = search.split('&').filter((pair) => /^[\w.~%[\]=-]+$/.test(pair) && !/^avh(=|$)/.test(pair))
  return [path.slice(path.lastIndexOf('/') + 1) + query, ...rest].join('&')
}
