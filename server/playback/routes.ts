import type { FastifyRequest } from 'fastify'
import { isFurtherIn } from '../access/check.ts'
import type { Context } from '../context.ts'
import { ApiError, httpErrors, notFound } from '../lib/errors.ts'
import type { App } from '../lib/http.ts'
import { attachment } from './download-name.ts'
import { Finished, standings } from './finished.ts'
import { isWhole, masterPlaylist, mediaPlaylist, sound } from './playlists.ts'
import { type Content, inFile, inMemory } from './send.ts'
import { type Found, forAMinute, forASecond, forEver, type Make, type Params, serveMedia } from './serve.ts'
import { sessionRoute } from './session.ts'
import * as store from './store.ts'

const playlistType = 'application/vnd.apple.mpegurl'

const renditionPattern = /^(?:sound|\d{3,4}p)$/
/** What is remembered of finished videos. */
const mostPlaylists = 500
const mostSegments = 20_000
/** One that is longer is made for each request. */
const mostPlaylistBytes = 64 * 1024

const segmentPattern = /^(video|sound)-(0|[1-9]\d{0,6})\.m4s$/

/** The media of a video, for whoever has the address. The same for both environments: an id is of one of them. */
export function playbackRoutes(app: App, context: Context): void {
  const findStanding = standings(context)
  const finished = {
    playlists: new Finished(findStanding, mostPlaylists),
    segments: new Finished(findStanding, mostSegments),
  }
  serveMedia(app, context, {
    path: 'hls/manifest.m3u8',
    isStart: () => true,
    find: (_request, { videoId }) =>
      finished.playlists.find(videoId, 'master', () => findMaster(context, videoId)),
  })
  serveMedia(app, context, {
    path: 'hls/:rendition/:file',
    find: (_request, params) => findFile(context, finished, params),
  })
  serveMedia(app, context, {
    path: 'mp4/source.mp4',
    // How long the file is does not matter for that.
    isStart: (request) => !isFurtherIn(request),
    isRepeated: true,
    find: (request, { videoId }) => findMp4(context, request, videoId),
  })
  sessionRoute(app, context)
}

async function findMaster({ db }: Context, videoId: string): Promise<Found | undefined> {
  const row = await store.findMaster(db, videoId)
  return row && { public: row.public, prepare: () => prepareMaster(row) }
}

/** What has failed is not there; an answer that says "not yet" would keep clients waiting for ever. */
function prepareMaster(row: store.MasterRow): Make | undefined {
  if (row.isSourceFailed || row.state === 'failed') throw notFound('videoId')
  const { plan } = row
  if (!plan) return undefined
  const rungs = plan.rungs.filter(({ quality }) => !row.failed.includes(quality))
  const [lowest] = rungs
  if (!lowest) throw notFound('videoId')
  const hasSound = plan.hasSound && row.soundFailure === null
  const isThere = (rendition: string) => row.runs.some((run) => run.rendition === rendition)
  if (!isThere(lowest.quality) || (hasSound && !isThere(sound))) return undefined
  return playlist(row.state === 'encoded', (query) =>
    masterPlaylist({ plan: { ...plan, rungs }, runs: row.runs, hasSound }, query),
  )
}

/** Of a public video it is the same for all. */
function playlist(isLasting: boolean, textFor: (query: string) => string): Make {
  const make = (query: string) =>
    inMemory(Buffer.from(textFor(query)), playlistType, isLasting ? forAMinute : forASecond)
  let plain: Content | undefined
  return ({ query }) => {
    if (query !== '') return make(query)
    const content = plain ?? make(query)
    if (content.size <= mostPlaylistBytes) plain = content
    return content
  }
}

async function findFile(
  context: Context,
  { playlists, segments }: Record<'playlists' | 'segments', Finished>,
  params: Params,
): Promise<Found | undefined> {
  const { videoId, rendition, file } = params
  if (!renditionPattern.test(rendition)) throw new ApiError(httpErrors.unknownUrl)
  if (file === 'manifest.m3u8')
    return playlists.find(videoId, rendition, () => findPlaylist(context, videoId, rendition))
  if (file === 'init.mp4')
    return playlists.find(videoId, `${rendition}/init`, () => findInitialization(context, videoId, rendition))
  const [, kind, index] = segmentPattern.exec(file) ?? []
  if ((kind === 'sound') !== (rendition === sound) || index === undefined)
    throw new ApiError(httpErrors.unknownUrl)
  return segments.find(videoId, `${rendition}/${index}`, () =>
    findSegment(context, { videoId, rendition, index: Number(index) }),
  )
}

async function findPlaylist({ db }: Context, videoId: string, rendition: string): Promise<Found | undefined> {
  const row = await store.findRendition(db, videoId, rendition)
  return row && { public: row.public, prepare: () => preparePlaylist(db, row, videoId, rendition) }
}

async function preparePlaylist(
  db: Context['db'],
  row: store.RenditionPlaybackRow,
  videoId: string,
  rendition: string,
): Promise<Make> {
  const { plan } = row
  const hasFailed = rendition === sound ? row.soundFailure !== null : row.renditionState === 'failed'
  const isAhead = rendition === sound && row.state === 'encoding'
  const segments = isAhead ? Math.min(row.segments, await pictureSegments(db, videoId)) : row.segments
  // A list that never ends would hold a player up; without it, it takes another quality.
  if (!plan || row.state === 'failed' || hasFailed || segments === 0) throw notFound('rendition')
  const isEnded = isWhole(plan, segments)
  return playlist(isEnded, (query) => mediaPlaylist(plan, rendition, segments, query))
}

/** Sound is encoded faster; a player that has more of it than of any picture may go on over one that stands still. */
async function pictureSegments(db: Context['db'], videoId: string): Promise<number> {
  const { runs = [] } = (await store.findMaster(db, videoId)) ?? {}
  return Math.max(0, ...runs.filter((run) => run.rendition !== sound).map(({ segments }) => segments))
}

async function findInitialization(
  { db }: Context,
  videoId: string,
  rendition: string,
): Promise<Found | undefined> {
  const row = await store.findInitialization(db, videoId, rendition)
  if (!row) return undefined
  const prepare = () => {
    const { bytes } = row
    if (!bytes) throw notFound('rendition')
    const content = inMemory(bytes, typeOf(rendition), forEver)
    return () => content
  }
  return { public: row.public, prepare }
}

async function findSegment({ db }: Context, place: store.SegmentPlace): Promise<Found | undefined> {
  const row = await store.findSegment(db, place)
  if (!row) return undefined
  const prepare = () => {
    const { segment } = row
    if (!segment) throw notFound('file')
    const content = inFile(segment, typeOf(place.rendition), forEver)
    return () => content
  }
  return { public: row.public, prepare }
}

async function findMp4(
  { db, files }: Context,
  request: FastifyRequest,
  videoId: string,
): Promise<Found | undefined> {
  const row = await store.findMp4(db, videoId)
  if (!row) return undefined
  const prepare = async () => {
    const { key, title } = row
    const found = key === null ? undefined : await files.stat(key)
    if (key === null || !found) throw notFound('videoId')
    // Not checked by a schema, it is a list of what was given.
    const { dl } = request.query as { dl?: string[] }
    const disposition = dl?.includes('1') ? attachment(title) : undefined
    // A download is named after the title, which may change.
    const cacheControl = disposition === undefined ? forEver : forAMinute
    return () => ({
      ...inFile({ key, size: found.size }, 'video/mp4', cacheControl),
      disposition,
    })
  }
  return { public: row.public, prepare }
}

/** Not video/iso.segment, which some players and proxies do not know. */
const typeOf = (rendition: string) => (rendition === sound ? 'audio/mp4' : 'video/mp4')
