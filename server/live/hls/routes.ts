import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  type Access,
  type AccessRequest,
  accessDenied,
  checkAccess,
  newSessionId,
  openSession,
} from '../../access/check.ts'
import type { Context } from '../../context.ts'
import { notFound } from '../../lib/errors.ts'
import type { App } from '../../lib/http.ts'
import { isId } from '../../lib/ids.ts'
import { liveMedium, livePath, privateLivePath } from '../../live-streams/paths.ts'
import { findThumbnail } from '../../live-streams/store.ts'
import { loadPlaceholder } from '../../playback/placeholder.ts'
import { type Content, inMemory, sendContent } from '../../playback/send.ts'
import { cacheOneMinute, cacheOneSecond, routeMedia, withoutSharedCaches } from '../../playback/serve.ts'
import type { Views } from '../state/broadcast-lookup.ts'
import type { WatchedStream } from '../state/watched-streams.ts'
import { parseLiveFile } from './file-names.ts'
import { loadLiveFile } from './files.ts'
import { writeMaster } from './master.ts'

export const playlistType = 'application/vnd.apple.mpegurl'

type Params = { liveStreamId: string; token?: string; broadcastId: string; quality: string; file: string }

/** The media of live streams. The same for both environments, since an id belongs to one of them. */
export async function liveMediaRoutes(app: App, context: Context, views: Views): Promise<void> {
  const placeholder = await loadPlaceholder()
  const serve = (suffix: string, handler: (viewing: Viewing) => Promise<FastifyReply>) => {
    for (const base of [livePath(':liveStreamId'), privateLivePath(':liveStreamId', ':token')])
      routeMedia(app, base + suffix, async (request, reply) =>
        handler(await authorize(context, views, request, reply, suffix === '.m3u8')),
      )
  }
  serve('.m3u8', (viewing) => sendMaster(context, views, viewing))
  serve('/thumbnail.jpg', (viewing) => sendThumbnail(context, viewing, placeholder))
  serve('/:broadcastId/:quality/:file', (viewing) => sendLiveFile(context, views, viewing))
  routeMedia(app, `${privateLivePath(':liveStreamId', ':token')}/session`, async (request, reply) => {
    const viewing = await authorize(context, views, request, reply, true)
    const access = await viewing.open()
    // Players request a session whenever they have a token, even where none is needed.
    const session = new URLSearchParams(access.query).get('avh') ?? newSessionId()
    return reply.send({ session_token: session })
  })
}

/** A request of a viewer who may see the live stream. */
type Viewing = {
  request: FastifyRequest
  reply: FastifyReply
  params: Params
  stream: WatchedStream
  isShared: boolean
  /** Uses up the token, if it has not been used. */
  open(): Promise<Access>
}

async function authorize(
  context: Context,
  views: Views,
  request: FastifyRequest,
  reply: FastifyReply,
  isStart: boolean,
): Promise<Viewing> {
  const params = request.params as Params
  const { liveStreamId, token } = params
  const stream = isId('li', liveStreamId) ? await views.findStream(liveStreamId) : undefined
  if (!stream) throw notFound('liveStreamId')
  const asked: AccessRequest = { request, medium: liveMedium(stream), token, isStart }
  const grant = await checkAccess(context, asked)
  if (!grant) throw accessDenied(token)
  const open = async () => {
    const access = await openSession(context, reply, asked, grant)
    if (!access) throw accessDenied(token)
    return access
  }
  return { request, reply, params, stream, isShared: stream.public && token === undefined, open }
}

/** 404 until the first broadcast is visible: players of the published libraries try again. */
async function sendMaster(context: Context, views: Views, viewing: Viewing): Promise<FastifyReply> {
  const { stream } = viewing
  const view = stream.broadcast && (await views.findBroadcast(stream.id, stream.broadcast.id))
  if (view?.live.targetSeconds === undefined) throw notFound('liveStreamId')
  const access = await viewing.open()
  const text = writeMaster(view.live, stream.id, access.query)
  return send(context, viewing, inMemory(Buffer.from(text), playlistType, cacheOneSecond))
}

/** The token is needed, but not used up: the image is a preview. */
async function sendThumbnail(context: Context, viewing: Viewing, placeholder: Buffer): Promise<FastifyReply> {
  const uploaded = await findThumbnail(context.db, viewing.stream.id)
  const cacheControl = uploaded ? cacheOneMinute : 'no-store'
  return send(context, viewing, inMemory(uploaded ?? placeholder, 'image/jpeg', cacheControl))
}

async function sendLiveFile(context: Context, views: Views, viewing: Viewing): Promise<FastifyReply> {
  const { params, request, reply, stream } = viewing
  const file = parseLiveFile(params.file)
  if (!file) throw notFound('file')
  const { query } = await viewing.open()
  const find = () => views.findBroadcast(stream.id, params.broadcastId)
  const asked = { quality: params.quality, file, directives: request.query, query }
  const content = await loadLiveFile(find, asked, reply.raw)
  if (!content) throw notFound('file')
  return send(context, viewing, content)
}

function send(
  context: Context,
  { request, reply, isShared }: Viewing,
  content: Content,
): Promise<FastifyReply> {
  return sendContent(context, request, reply, isShared ? content : withoutSharedCaches(content))
}
