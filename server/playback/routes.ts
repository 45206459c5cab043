import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../contracts/context.ts'
import { ApiError, notFound } from '../lib/errors.ts'
import type { App } from '../lib/http.ts'
import { isId } from '../lib/ids.ts'
import { attachment } from './download-name.ts'
import { mayPlay } from './may-play.ts'
import { gridOf, isWhole, masterPlaylist, mediaPlaylist, sound } from './playlists.ts'
import { type Content, inFile, inMemory, sendContent } from './send.ts'
import * as store from './store.ts'

const playlistType = 'application/vnd.apple.mpegurl'

const forEver = 'public, max-age=31536000, immutable'
/** The addresses stay when a video is changed: a player may be told late, but not for long. */
const forAMinute = 'public, max-age=60'
/** One reader for all viewers who come in the same second, where there is a cache between. */
const forASecond = 'public, max-age=1'

/** Players run on pages of any origin and want to see what they got. */
const cors = {
  methods: ['GET', 'HEAD'],
  allowedHeaders: 'range, if-range, if-none-match, accept, content-type, authorization',
  exposedHeaders:
    'accept-ranges, content-disposition, content-length, content-range, content-type, date, etag, x-request-id',
}

const renditionPattern = /^(?:sound|\d{3,4}p)$/
const segmentPattern = /^(video|sound)-(0|[1-9]\d{0,6})\.m4s$/

type Params = { videoId: string; rendition: string; file: string }
/** Undefined as long as there is nothing to play yet. */
type Handler = (request: FastifyRequest, params: Params) => Promise<Content | undefined>

/** The media of a video, for whoever has the address. The same for both environments: an id is of one of them. */
export function playbackRoutes(app: App, context: Context): void {
  const serve = (url: string, handler: Handler) =>
    app.route({
      method: ['GET', 'HEAD', 'OPTIONS'],
      url,
      config: { cors },
      schema: { hide: true },
      async handler(request: FastifyRequest, reply: FastifyReply) {
        const params = request.params as Params
        reply.headers({
          // Of errors and of what is not there yet; what is there says for how long it holds.
          'cache-control': 'no-store',
          'cross-origin-resource-policy': 'cross-origin',
          'timing-allow-origin': '*',
        })
        if (!isId('vi', params.videoId)) throw notFound('videoId')
        const content = await handler(request, params)
        return content ? sendContent(request, reply, content) : reply.code(202).send()
      },
    })

  serve('/vod/:videoId/hls/manifest.m3u8', (request, { videoId }) => master(context, request, videoId))
  serve('/vod/:videoId/hls/:rendition/:file', (request, params) => fileOf(context, request, params))
  serve('/vod/:videoId/mp4/source.mp4', (request, { videoId }) => mp4(context, request, videoId))
}

/** What has failed is not there; an answer that says "not yet" would keep clients waiting for ever. */
async function master(
  { db }: Context,
  request: FastifyRequest,
  videoId: string,
): Promise<Content | undefined> {
  const row = allowed(request, await store.findMaster(db, videoId))
  if (row.isSourceFailed || row.state === 'failed') throw notFound('videoId')
  const { plan } = row
  if (!plan) return undefined
  const rungs = plan.rungs.filter(({ quality }) => !row.failed.includes(quality))
  const [lowest] = rungs
  if (!lowest) throw notFound('videoId')
  const hasSound = plan.hasSound && row.soundFailure === null
  const isThere = (rendition: string) => row.runs.some((run) => run.rendition === rendition)
  if (!isThere(lowest.quality) || (hasSound && !isThere(sound))) return undefined
  const text = masterPlaylist({ plan: { ...plan, rungs }, runs: row.runs, hasSound })
  return inMemory(Buffer.from(text), playlistType, row.state === 'encoded' ? forAMinute : forASecond)
}

async function fileOf(context: Context, request: FastifyRequest, params: Params): Promise<Content> {
  const { videoId, rendition, file } = params
  if (!renditionPattern.test(rendition)) throw new ApiError('unrecognized-request-url')
  if (file === 'manifest.m3u8') return media(context, request, videoId, rendition)
  if (file === 'init.mp4') return initialization(context, request, videoId, rendition)
  const [, kind, index] = segmentPattern.exec(file) ?? []
  if ((kind === 'sound') !== (rendition === sound) || index === undefined)
    throw new ApiError('unrecognized-request-url')
  return segment(context, request, videoId, rendition, Number(index))
}

async function media({ db }: Context, request: FastifyRequest, videoId: string, rendition: string) {
  const row = allowed(request, await store.findRendition(db, videoId, rendition))
  const hasFailed = rendition === sound ? row.soundFailure !== null : row.renditionState === 'failed'
  const isAhead = rendition === sound && row.state === 'encoding'
  const segments = isAhead ? Math.min(row.segments, await pictureSegments(db, videoId)) : row.segments
  // A list that never ends would hold a player up; without it, it takes another quality.
  if (!row.plan || row.state === 'failed' || hasFailed || segments === 0) throw notFound('rendition')
  const text = mediaPlaylist(row.plan, rendition, segments)
  const isEnded = isWhole(gridOf(row.plan), segments)
  return inMemory(Buffer.from(text), playlistType, isEnded ? forAMinute : forASecond)
}

/** Sound is encoded faster; a player that has more of it than of any picture may go on over one that stands still. */
async function pictureSegments(db: Context['db'], videoId: string): Promise<number> {
  const { runs = [] } = (await store.findMaster(db, videoId)) ?? {}
  return Math.max(0, ...runs.filter((run) => run.rendition !== sound).map(({ segments }) => segments))
}

async function initialization({ db }: Context, request: FastifyRequest, videoId: string, rendition: string) {
  const { bytes } = allowed(request, await store.findInitialization(db, videoId, rendition))
  if (!bytes) throw notFound('rendition')
  return inMemory(bytes, typeOf(rendition), forEver)
}

async function segment(
  { db, files }: Context,
  request: FastifyRequest,
  videoId: string,
  rendition: string,
  index: number,
) {
  const found = allowed(request, await store.findSegment(db, videoId, rendition, index))
  if (!found.segment) throw notFound('file')
  return inFile(files, found.segment, typeOf(rendition), forEver)
}

async function mp4({ db, files }: Context, request: FastifyRequest, videoId: string): Promise<Content> {
  const { key, title } = allowed(request, await store.findMp4(db, videoId))
  const found = key === null ? undefined : await files.stat(key)
  if (key === null || !found) throw notFound('videoId')
  // Not checked by a schema, it is a list of what was given.
  const { dl } = request.query as { dl?: string[] }
  return {
    ...inFile(files, { key, offset: 0, size: found.size }, 'video/mp4', forEver),
    disposition: dl?.includes('1') ? attachment(title) : undefined,
  }
}

/** Not video/iso.segment, which some players and proxies do not know. */
const typeOf = (rendition: string) => (rendition === sound ? 'audio/mp4' : 'video/mp4')

/** What a private video has, or whether it has anything, is told to nobody else. */
function allowed<T extends store.Playable>(request: FastifyRequest, video: T | undefined): T {
  if (!video) throw notFound('videoId')
  if (!mayPlay(video, request)) throw new ApiError('private-video')
  return video
}
