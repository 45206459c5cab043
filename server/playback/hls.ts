import type { Access } from '../access/check.ts'
import type { Context } from '../context.ts'
import { audioRendition, checkPlayable } from '../encoding/renditions/playable.ts'
import { ApiError, httpErrors, notFound } from '../lib/errors.ts'
import type { EncodedCache } from './encoded-cache.ts'
import { isComplete, type Playlist, renderPlaylist, withoutSlow } from './playlists.ts'
import { type Content, inFile, inMemory } from './send.ts'
import { cacheForever, cacheOneMinute, type Params, shareOneSecond } from './serve.ts'
import * as store from './store.ts'

export const playlistType = 'application/vnd.apple.mpegurl'
/** Longer playlists are rendered for each request instead of being cached. */
const maxCachedPlaylistBytes = 64 * 1024

const renditionPattern = /^(?:sound|\d{3,4}p)$/
const segmentPattern = /^(video|sound)-(0|[1-9]\d{0,6})\.m4s$/

export type HlsFile =
  | { kind: 'playlist' | 'initialization'; rendition: string }
  | { kind: 'segment'; rendition: string; index: number }

/** The playlist of a private video is rendered for each viewer. */
export type LoadedHls = Content | { playlist: Playlist }

export type HlsCaches = { playlists: EncodedCache<LoadedHls>; segments: EncodedCache<LoadedHls> }

/** By strict patterns: nothing else reaches the database. */
export function parseHlsFile({ rendition, file }: Params): HlsFile {
  if (!renditionPattern.test(rendition)) throw new ApiError(httpErrors.unknownUrl)
  if (file === 'manifest.m3u8') return { kind: 'playlist', rendition }
  if (file === 'init.mp4') return { kind: 'initialization', rendition }
  const [, prefix, index] = segmentPattern.exec(file) ?? []
  if ((prefix === 'sound') !== (rendition === audioRendition) || index === undefined)
    throw new ApiError(httpErrors.unknownUrl)
  return { kind: 'segment', rendition, index: Number(index) }
}

/** Content that was rendered while the video was public has no session in its URLs. */
const variantOf = (video: store.VideoState) => (video.public ? 'public' : 'private')

/** Undefined while nothing can be played yet. All qualities are the same once the video is encoded, which is cached. */
export function loadMaster(
  { db }: Pick<Context, 'db'>,
  { playlists }: HlsCaches,
  video: store.MasterState,
  hasAllQualities: boolean,
): Promise<LoadedHls | undefined> {
  const versions = video.captions.map(({ version }) => version)
  return playlists.load(video, `${variantOf(video)} master ${video.language} ${versions}`, () =>
    makeMaster(db, video, hasAllQualities),
  )
}

/** Throws if there is no such file. */
export function loadHls(
  { db }: Pick<Context, 'db'>,
  { playlists, segments }: HlsCaches,
  video: store.VideoState,
  file: HlsFile,
): Promise<LoadedHls | undefined> {
  if (video.isHidden) throw notFound('file')
  switch (file.kind) {
    case 'playlist':
      return playlists.load(video, `${variantOf(video)} ${file.rendition}`, () =>
        loadPlaylist(db, video, file.rendition),
      )
    case 'initialization':
      return playlists.load(video, `${file.rendition}/init`, () =>
        loadInitialization(db, video, file.rendition),
      )
    case 'segment':
      return segments.load(video, `${file.rendition}/${file.index}`, () =>
        loadSegment(db, { videoId: video.id, rendition: file.rendition, index: file.index }),
      )
  }
}

export const renderHls = (loaded: LoadedHls, { query }: Access): Content =>
  'playlist' in loaded ? renderContent(loaded.playlist, query) : loaded

const renderContent = (playlist: Playlist, query: string) =>
  inMemory(
    Buffer.from(renderPlaylist(playlist, query)),
    playlistType,
    playlist.isFinal ? cacheOneMinute : shareOneSecond,
  )

/** All viewers of a public video get the same content. */
function prepareContent(playlist: Playlist, isPublic: boolean): LoadedHls {
  if (!isPublic) return { playlist }
  const content = renderContent(playlist, '')
  return content.size <= maxCachedPlaylistBytes ? content : { playlist }
}

/** A 202 for a video that failed would make clients wait forever. */
async function makeMaster(
  db: Context['db'],
  video: store.MasterState,
  hasAllQualities: boolean,
): Promise<LoadedHls | undefined> {
  const row = await store.findMaster(db, video.id)
  if (!row) throw notFound('videoId')
  const playable = checkPlayable(row)
  if (playable.state === 'failed') throw notFound('videoId')
  if (playable.state === 'processing') return undefined
  const { plan, hasAudio } = playable
  const playlist = {
    kind: 'master',
    plan,
    hasAudio,
    runs: hasAllQualities ? row.runs : withoutSlow(plan, row.runs, row.elapsedSeconds ?? 0),
    language: video.language,
    // Their playlist is complete from the start on.
    captions: plan.partial ? [] : video.captions,
    hasAllQualities,
    isFinal: row.state === 'encoded',
  } as const
  return prepareContent(playlist, video.public)
}

async function loadPlaylist(
  db: Context['db'],
  video: store.VideoState,
  rendition: string,
): Promise<LoadedHls> {
  const row = await store.findRendition(db, video.id, rendition)
  if (!row) throw notFound('videoId')
  const { plan, state } = row
  const isAudio = rendition === audioRendition
  const hasFailed = isAudio ? row.audioFailure !== null : row.renditionState === 'failed'
  const segments =
    isAudio && state === 'encoding'
      ? Math.min(row.segments, await countVideoSegments(db, video.id))
      : row.segments
  // A playlist that never ends would stall the player; after a 404 it takes another quality.
  if (!plan || state === 'failed' || hasFailed || segments === 0) throw notFound('rendition')
  const playlist = { kind: 'media', rendition, plan, segments, isFinal: isComplete(plan, segments) } as const
  return prepareContent(playlist, video.public)
}

/**
 * Audio is encoded faster than video. A player that has more audio than video may keep playing the audio over a frozen
 * frame.
 */
async function countVideoSegments(db: Context['db'], videoId: string): Promise<number> {
  const { runs = [] } = (await store.findMaster(db, videoId)) ?? {}
  return Math.max(
    0,
    ...runs.filter((run) => run.rendition !== audioRendition).map(({ segments }) => segments),
  )
}

async function loadInitialization(
  db: Context['db'],
  { id }: store.VideoState,
  rendition: string,
): Promise<Content> {
  const bytes = await store.findInitialization(db, id, rendition)
  if (!bytes) throw notFound('rendition')
  return inMemory(bytes, typeOf(rendition), cacheForever)
}

async function loadSegment(db: Context['db'], place: store.SegmentPlace): Promise<Content> {
  const segment = await store.findSegment(db, place)
  if (!segment) throw notFound('file')
  return inFile(segment, typeOf(place.rendition), cacheForever)
}

/** Not video/iso.segment, which some players and proxies do not know. */
const typeOf = (rendition: string) => (rendition === audioRendition ? 'audio/mp4' : 'video/mp4')
