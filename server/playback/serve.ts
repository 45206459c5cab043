import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  type Access,
  type AccessRequest,
  accessDenied,
  checkAccess,
  type MediaKind,
  openSession,
} from '../access/check.ts'
import type { Context } from '../context.ts'
import { notFound } from '../lib/errors.ts'
import type { App } from '../lib/http.ts'
import { isId } from '../lib/ids.ts'
import type { SentKind } from './metrics.ts'
import type { RepeatedResponses } from './repeated-responses.ts'
import { type Content, sendContent } from './send.ts'
import type { Asset } from './store.ts'

export const cacheForever = 'public, max-age=31536000, immutable'
/** For URLs whose content may change with the video. */
export const cacheOneMinute = 'public, max-age=60'
/** Lets a cache in front answer all viewers of the same second. */
export const cacheOneSecond = 'public, max-age=1'
/** The same for what a player may ask for again within a second, to see whether it has changed. */
export const shareOneSecond = 'public, max-age=0, s-maxage=1'

/** Players run on pages of any origin, and some read these headers. */
const cors = {
  methods: ['GET', 'HEAD'],
  allowedHeaders: 'range, if-range, if-none-match, accept, content-type, authorization',
  exposedHeaders:
    'accept-ranges, content-disposition, content-length, content-range, content-type, date, etag, x-request-id',
}

export type Params = { videoId: string; rendition: string; file: string }

/** A kind of file that every video or every live stream has. */
export type MediaFile<A extends Asset, Loaded, P = Params> = {
  kind: MediaKind
  /** For the metrics. */
  sentKind: SentKind
  /** What follows the path of the video or live stream. */
  suffix: string
  /** Whether a request starts to play. */
  isStart?(request: FastifyRequest): boolean
  isPreview?: boolean
  /** A viewer whose session is new is redirected to the URL that contains it. */
  isProgressive?: boolean
  /** Finds the video or live stream, and as much of the file as the same statement can. Undefined if it does not exist. */
  find(params: P): Promise<A | undefined>
  /** Called after the access check. Throws if there is no such file; undefined while nothing can be played yet. */
  load(
    asset: A,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Loaded | undefined | Promise<Loaded | undefined>
  /** Repeats files of assets that are `isFinal`, until they change. */
  repeated?: RepeatedResponses
  isFinal?(asset: A): boolean
  /** The content may contain URLs of the viewer. */
  render(loaded: Loaded, access: Access): Content
}

/** For errors and 202. Everything else sets its own cache-control. */
const mediaHeaders = {
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'cross-origin',
  'timing-allow-origin': '*',
  // Captions contain what customers upload.
  'x-content-type-options': 'nosniff',
}

/** Serves a kind of file by its plain URL and by the URL with a token. */
export function serveMedia<A extends Asset, Loaded, P = Params>(
  app: App,
  context: Context,
  file: MediaFile<A, Loaded, P>,
): void {
  const { parameter, path, privatePath } = file.kind
  const sender = { ...context, sentKind: file.sentKind }
  for (const base of [path(`:${parameter}`), privatePath(`:${parameter}`, ':token')])
    routeMedia(app, base + file.suffix, (request, reply) => serve(sender, file, request, reply))
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
      countsSentBytes: true,
      loggedQuery: ['dl', 'r', 'qualities', '_HLS_msn', '_HLS_part', '_HLS_skip'],
    },
    schema: { hide: true },
    handler(request: FastifyRequest, reply: FastifyReply) {
      reply.headers(mediaHeaders)
      return handler(request, reply)
    },
  })
}

async function serve<A extends Asset, Loaded, P>(
  context: Context & { sentKind: SentKind },
  file: MediaFile<A, Loaded, P>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { kind } = file
  const params = request.params as Record<string, string>
  const { [kind.parameter]: id = '', token } = params
  if (!isId(kind.prefix, id)) throw notFound(kind.parameter)
  const keep = file.repeated?.begin()
  const asset = await file.find(params as P)
  if (!asset) throw notFound(kind.parameter)

  const asked: AccessRequest = {
    request,
    media: { kind, id, environment: asset.environment, public: asset.public },
    token,
    isStart: file.isStart?.(request) ?? false,
    isPreview: file.isPreview ?? false,
    isProgressive: file.isProgressive ?? false,
  }
  // Before the file is loaded: whether a private video has it is private as well.
  const grant = await checkAccess(context, asked)
  if (!grant) throw accessDenied(token)

  const loaded = await file.load(asset, request, reply)
  if (loaded === undefined) return reply.code(202).send()

  // After the file is loaded: a file that does not exist does not use up a token.
  const access = await openSession(context, reply, asked, grant)
  if (!access) throw accessDenied(token)
  if (access.isNew && file.isProgressive) return reply.redirect(withSession(request, access), 302)

  const content = file.render(loaded, access)
  const isShared = asset.public && token === undefined
  await sendContent(context, request, reply, isShared ? content : withoutSharedCaches(content))
  const isRepeatable = isShared && file.isFinal?.(asset) && isOwnUrl(request, file)
  if (keep && isRepeatable && reply.statusCode === 200 && 'key' in content) {
    const { originalUrl: url, routeOptions } = request
    const headers = reply.getHeaders()
    const isSentByNginx = headers['x-accel-redirect'] !== undefined
    const { sentKind } = context
    keep({
      id,
      url,
      route: routeOptions.url ?? url,
      sentKind,
      headers,
      file: isSentByNginx ? undefined : content,
    })
  }
  return reply
}

/** A file has countless other URLs, such as with more slashes or a query, which would fill the memory. */
function isOwnUrl(
  { method, originalUrl, params }: FastifyRequest,
  { kind, suffix }: Pick<MediaFile<Asset, unknown>, 'kind' | 'suffix'>,
): boolean {
  const values = params as Record<string, string>
  const path = kind.path(values[kind.parameter] ?? '') + suffix
  return method === 'GET' && originalUrl === path.replace(/:(\w+)/g, (_, name) => values[name] ?? '')
}

/** Shared caches do not check who may see the content. */
const withoutSharedCaches = (content: Content): Content => ({
  ...content,
  cacheControl: content.cacheControl.replace('public', 'private').replace(/, s-maxage=\d+/, ''),
})

/** Relative, so that it works behind any proxy. */
function withSession({ originalUrl }: FastifyRequest, { query }: Access): string {
  const [path = '', search = ''] = originalUrl.split('?')
  const rest = search.split('&').filter((pair) => /^[\w.~%[\]=-]+$/.test(pair) && !/^avh(=|$)/.test(pair))
  return [path.slice(path.lastIndexOf('/') + 1) + query, ...rest].join('&')
}
