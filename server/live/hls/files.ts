import type { ServerResponse } from 'node:http'
import type { Access } from '../../access/check.ts'
import { notFound } from '../../lib/errors.ts'
import { type Content, inFile, inMemory } from '../../playback/send.ts'
import { cacheForever, cacheOneSecond, shareOneSecond } from '../../playback/serve.ts'
import type { BroadcastSource } from '../state/broadcast-lookup.ts'
import { liveSegmentKey } from '../state/files.ts'
import type { LiveBroadcast } from '../state/live-broadcast.ts'
import type { Rendition } from '../state/rendition.ts'
import { type LiveFile, parseLiveFile } from './file-names.ts'
import { type Directives, loadPlaylistContent, readDirectives, waitForPlaylist } from './playlist-requests.ts'
import { withTimeout } from './timeout.ts'

export type LiveFileParams = { broadcastId: string; quality: string; file: string }

type LoadedPlaylist = { source: BroadcastSource; quality: string; asked: Directives }
/** The URLs in a playlist contain the session of the viewer. */
type LoadedFile = Content | LoadedPlaylist

const segmentType = 'video/mp4'
/** A blocked request waits for this many target durations (RFC 8216bis, B.1). */
const maxWaitTargets = 3

type Find = () => Promise<BroadcastSource | undefined>

/** Throws if there is no such file. */
export async function loadLiveFile(
  find: Find,
  { quality, file: name }: LiveFileParams,
  query: unknown,
  viewer: ServerResponse,
): Promise<LoadedFile> {
  const file = parseLiveFile(name)
  const source = file && (await find())
  const loaded = source && (await loadFrom(source, { quality, file, query, find, viewer }))
  if (!loaded) throw notFound('file')
  return loaded
}

export const renderLiveFile = (loaded: LoadedFile, { query }: Access): Content =>
  'asked' in loaded ? renderPlaylist(loaded, query) : loaded

type Request = { quality: string; file: LiveFile; query: unknown; find: Find; viewer: ServerResponse }

function loadFrom(
  source: BroadcastSource,
  request: Request,
): LoadedFile | undefined | Promise<LoadedFile | undefined> {
  const { quality, file, viewer } = request
  const rendition = findVisible(source, quality)
  if (!rendition) return undefined
  switch (file.kind) {
    case 'playlist':
      return loadPlaylist(source, request)
    case 'init': {
      const init = rendition.findInit(file.epoch)
      return init && inMemory(init.data, segmentType, cacheForever)
    }
    case 'segment':
      return findSegment(source.live, quality, rendition, file)
    case 'part':
      return loadPart(source, quality, rendition, file, viewer)
  }
}

const findVisible = ({ live }: BroadcastSource, quality: string) =>
  live.qualities.includes(quality) ? live.rendition(quality) : undefined

const maxWaitMs = ({ live }: BroadcastSource) => maxWaitTargets * (live.targetSeconds ?? 2) * 1000

/** Waits until the playlist contains what the player asks for. */
async function loadPlaylist(
  source: BroadcastSource,
  { quality, query, find, viewer }: Request,
): Promise<LoadedPlaylist | undefined> {
  const asked = readDirectives(query)
  const wait = (signal: AbortSignal) => waitThroughOwners(find, source, quality, asked, signal)
  const current = source.hasParts ? await withTimeout(viewer, maxWaitMs(source), wait) : source
  return current && findVisible(current, quality) ? { source: current, quality, asked } : undefined
}

function renderPlaylist({ source, quality, asked }: LoadedPlaylist, query: string): Content {
  const content = loadPlaylistContent(source, quality, { skips: asked.skips, query })
  // A playlist that was waited for answers everyone who waits for the same part, even if the part has not arrived:
  // otherwise a cache in front would let its viewers wait one after the other.
  return { ...content, cacheControl: asked.sequence === undefined ? cacheOneSecond : shareOneSecond }
}

/** The owner of a broadcast may change while a player waits. */
async function waitThroughOwners(
  find: Find,
  source: BroadcastSource,
  quality: string,
  asked: Directives,
  signal: AbortSignal,
): Promise<BroadcastSource | undefined> {
  let current: BroadcastSource | undefined = source
  while (current && !(await waitForPlaylist(current, quality, asked, signal)) && !signal.aborted) {
    // Only a broadcast without an owner is found again at once.
    const next = await find()
    if (next?.live === current.live || !next?.hasParts) return next
    current = next
  }
  return current
}

type SegmentFile = Extract<LiveFile, { kind: 'segment' }>
type PartFile = Extract<LiveFile, { kind: 'part' }>

function findSegment(
  { id }: LiveBroadcast,
  quality: string,
  rendition: Rendition,
  { sequence, epoch }: SegmentFile,
): Content | undefined {
  const segment = rendition.window.find(sequence)
  if (segment?.epoch !== epoch) return undefined
  const { bytes, fence } = segment
  const key = liveSegmentKey(id, { quality, sequence, fence })
  const stored = inFile({ key, size: bytes }, segmentType, cacheForever)
  const body = rendition.findSegment(sequence)?.join()
  if (!body) return stored
  // nginx and S3 cannot send it yet.
  if (!rendition.isStored(sequence))
    return { ...inMemory(body, segmentType, cacheForever), etag: stored.etag }
  return { ...stored, body }
}

/** The part that comes next can be requested before it exists. */
async function loadPart(
  source: BroadcastSource,
  quality: string,
  rendition: Rendition,
  { sequence, epoch, part }: PartFile,
  viewer: ServerResponse,
): Promise<Content | undefined> {
  const { live, hasParts } = source
  const { window } = rendition
  if (sequence > window.next) return undefined
  const isMet = () => window.has(sequence, part)
  if (hasParts && !isMet())
    await withTimeout(viewer, maxWaitMs(source), (signal) => window.waitUntil(isMet, signal))
  // Playlists have announced it. Some players report an error if it is missing.
  if (live.isEnded && window.endsBefore(sequence, part))
    return inMemory(Buffer.alloc(0), segmentType, shareOneSecond)
  const body = rendition.findPart(sequence, part)?.join()
  const { open } = window.state
  const segment = open?.sequence === sequence ? open : window.find(sequence)
  if (!body || segment?.epoch !== epoch) return undefined
  const etag = `"${live.id}-${quality}-${sequence}-${epoch}.${part}"`
  return { type: segmentType, cacheControl: cacheForever, etag, size: body.length, body }
}
