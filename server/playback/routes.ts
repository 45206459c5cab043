import { isLaterRange } from '../access/check.ts'
import type { Context } from '../context.ts'
import type { App } from '../lib/http.ts'
import { videoKind } from '../videos/paths.ts'
import { EncodedCache, masterStateFinder, videoStateFinder } from './encoded-cache.ts'
import { type HlsCaches, loadHls, loadMaster, parseHlsFile, renderHls } from './hls.ts'
import { loadMp4 } from './mp4.ts'
import type { RepeatedResponses } from './repeated-responses.ts'
import type { Content } from './send.ts'
import { serveMedia } from './serve.ts'
import { sessionRoute } from './session.ts'
import { findAsset, findMp4 } from './store.ts'

/** Cached files of encoded videos. */
const maxPlaylists = 500
const maxSegments = 20_000

/** Our player asks for all qualities with `?qualities=all`. The route has no schema, so query parameters are lists. */
const hasAllQualities = (query: unknown) =>
  (query as { qualities?: string[] }).qualities?.includes('all') ?? false

/** The media of a video. The same for both environments, since an id belongs to one of them. */
export function playbackRoutes(app: App, context: Context, repeated: RepeatedResponses): void {
  // Of other processes, it is notified a little later.
  app.addHook('onRoute', (route) => {
    if (!route.url.includes('/:videoId') || [route.method].flat().includes('GET')) return
    route.onSend = [route.onSend ?? []].flat().concat((request, _reply, payload, done) => {
      repeated.forget((request.params as { videoId: string }).videoId)
      done(null, payload)
    })
  })
  const findState = videoStateFinder(context)
  const findMasterState = masterStateFinder(context)
  const caches: HlsCaches = {
    playlists: new EncodedCache(maxPlaylists),
    segments: new EncodedCache(maxSegments),
  }
  serveMedia(app, context, {
    kind: videoKind,
    sentKind: 'hls',
    suffix: '/hls/manifest.m3u8',
    isStart: () => true,
    find: ({ videoId }) => findMasterState(videoId),
    load: (video, { query }) => loadMaster(context, caches, video, hasAllQualities(query)),
    render: renderHls,
  })
  serveMedia(app, context, {
    kind: videoKind,
    sentKind: 'hls',
    suffix: '/hls/:rendition/:file',
    async find(params) {
      const file = parseHlsFile(params)
      const video = await findState(params.videoId)
      return video && { ...video, file }
    },
    repeated,
    isFinal: ({ finishedAt }) => finishedAt !== null,
    load: (video) => loadHls(context, caches, video, video.file),
    render: renderHls,
  })
  serveMedia(app, context, {
    kind: videoKind,
    sentKind: 'mp4',
    suffix: '/mp4/source.mp4',
    isStart: (request) => !isLaterRange(request),
    isProgressive: true,
    find: ({ videoId }) => findMp4(context.db, videoId),
    load: (asset, request) => loadMp4(context, asset, request),
    render: (content: Content) => content,
  })
  sessionRoute(app, context, videoKind, (id) => findAsset(context.db, id))
}
