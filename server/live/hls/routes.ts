import type { Context } from '../../context.ts'
import { notFound } from '../../lib/errors.ts'
import type { App } from '../../lib/http.ts'
import { liveStreamKind } from '../../live-streams/paths.ts'
import { findThumbnail } from '../../live-streams/store.ts'
import { playlistType } from '../../playback/hls.ts'
import { loadPlaceholder } from '../../playback/placeholder.ts'
import { type Content, inMemory } from '../../playback/send.ts'
import { cacheOneMinute, cacheOneSecond, serveMedia } from '../../playback/serve.ts'
import { sessionRoute } from '../../playback/session.ts'
import { freshMs, LiveFrames } from '../frames/live-frames.ts'
import type { BroadcastLookup } from '../state/broadcast-lookup.ts'
import type { LiveBroadcast } from '../state/live-broadcast.ts'
import type { WatchedStream } from '../state/watched-streams.ts'
import { type LiveFileParams, loadLiveFile, renderLiveFile } from './files.ts'
import { writeMaster } from './master.ts'

type Params = { liveStreamId: string }

/** The media of live streams. The same for both environments, since an id belongs to one of them. */
export async function liveMediaRoutes(app: App, context: Context, lookup: BroadcastLookup): Promise<void> {
  const placeholder = inMemory(await loadPlaceholder(), jpeg, 'no-store')
  const frames = new LiveFrames(context)
  const find = ({ liveStreamId }: Params) => lookup.findStream(liveStreamId)
  serveMedia(app, context, {
    kind: liveStreamKind,
    sentKind: 'live',
    suffix: '.m3u8',
    isStart: () => true,
    find,
    load: (stream) => findVisible(lookup, stream),
    render: (live, { query }) =>
      inMemory(Buffer.from(writeMaster(live, query)), playlistType, cacheOneSecond),
  })
  serveMedia(app, context, {
    kind: liveStreamKind,
    sentKind: 'image',
    suffix: '/thumbnail.jpg',
    isPreview: true,
    find,
    load: async (stream) =>
      (await loadUploaded(context, stream)) ?? (await loadFrame(frames, stream)) ?? placeholder,
    render: (content: Content) => content,
  })
  serveMedia(app, context, {
    kind: liveStreamKind,
    sentKind: 'image',
    suffix: '/frame.jpg',
    isPreview: true,
    find,
    load: async (stream) =>
      (await loadFrame(frames, stream)) ?? (await loadUploaded(context, stream)) ?? placeholder,
    render: (content: Content) => content,
  })
  serveMedia(app, context, {
    kind: liveStreamKind,
    sentKind: 'live',
    suffix: '/:broadcastId/:quality/:file',
    async find(params: Params & LiveFileParams) {
      const stream = await find(params)
      return stream && { ...stream, params }
    },
    load: ({ params, id }, request, reply) =>
      loadLiveFile(() => lookup.findBroadcast(id, params.broadcastId), params, request.query, reply.raw),
    render: renderLiveFile,
  })
  sessionRoute(app, context, liveStreamKind, (id) => lookup.findStream(id))
}

const jpeg = 'image/jpeg'

async function loadUploaded({ db }: Context, { id }: WatchedStream): Promise<Content | undefined> {
  const uploaded = await findThumbnail(db, id)
  return uploaded && inMemory(uploaded, jpeg, cacheOneMinute)
}

/** Caches keep it for as long as there is no newer one. */
async function loadFrame(frames: LiveFrames, stream: WatchedStream): Promise<Content | undefined> {
  const frame = await frames.find(stream)
  return frame && inMemory(frame, jpeg, `public, max-age=${freshMs / 1000}`)
}

/** 404 until the first broadcast is visible: players of the published libraries try again. */
async function findVisible(
  lookup: BroadcastLookup,
  { id, broadcast }: WatchedStream,
): Promise<LiveBroadcast> {
  const source = broadcast && (await lookup.findBroadcast(id, broadcast.id))
  if (source?.live.targetSeconds === undefined) throw notFound('liveStreamId')
  return source.live
}
