import type { ServerResponse } from 'node:http'
import { type Content, inFile, inMemory } from '../../playback/send.ts'
import { cacheForever, cacheOneSecond } from '../../playback/serve.ts'
import type { View } from '../state/broadcast-lookup.ts'
import { liveSegmentKey } from '../state/files.ts'
import type { LiveFile } from './file-names.ts'
import { withPatience } from './patience.ts'
import { type Directives, loadPlaylistContent, readDirectives, waitForPlaylist } from './playlist-requests.ts'

type Asked = {
  quality: string
  file: LiveFile
  /** The query of the request. */
  directives: unknown
  /** For the URLs in a playlist. */
  query: string
}

const segmentType = 'video/mp4'
/** A blocked request waits for this many target durations (RFC 8216bis, B.1). */
const maxWaitTargets = 3
/**
 * A playlist that was waited for answers everyone who waits for the same part. The same URL has another answer later, and
 * some players request it again after the last part of a segment, so browsers do not keep it.
 */
const shareOneSecond = 'public, max-age=0, s-maxage=1'
const noStore = 'no-store'

type Find = () => Promise<View | undefined>

/** Undefined if there is no such file. */
export async function loadLiveFile(
  find: Find,
  asked: Asked,
  viewer: ServerResponse,
): Promise<Content | undefined> {
  const view = await find()
  const rendition = view?.live.qualities.includes(asked.quality)
    ? view.live.rendition(asked.quality)
    : undefined
  if (!view || !rendition) return undefined
  const { file } = asked
  switch (file.kind) {
    case 'playlist':
      return loadPlaylist(find, view, asked, viewer)
    case 'init': {
      const init = rendition.findInit(file.epoch)
      return init && inMemory(init.data, segmentType, cacheForever)
    }
    case 'segment':
      return findSegment(view, asked.quality, file)
    case 'part':
      return loadPart(view, asked.quality, file, viewer)
  }
}

const maxWaitMs = ({ live }: View) => maxWaitTargets * (live.targetSeconds ?? 2) * 1000

async function loadPlaylist(
  find: Find,
  view: View,
  { quality, directives, query }: Asked,
  viewer: ServerResponse,
): Promise<Content | undefined> {
  const asked = readDirectives(directives)
  const wait = (signal: AbortSignal) => waitThroughOwners(find, view, quality, asked, signal)
  const current = view.hasParts ? await withPatience(viewer, maxWaitMs(view), wait) : view
  if (!current?.live.qualities.includes(quality)) return undefined
  const window = current.live.rendition(quality)?.window
  if (!window) return undefined
  const content = loadPlaylistContent(current, quality, { skips: asked.skips, query })
  const isComplete = asked.sequence !== undefined && window.lists(asked.sequence, asked.part)
  const cacheControl = asked.sequence === undefined ? cacheOneSecond : isComplete ? shareOneSecond : noStore
  return { ...content, cacheControl }
}

/** The owner of a broadcast may change while a player waits. */
async function waitThroughOwners(
  find: Find,
  view: View,
  quality: string,
  asked: Directives,
  signal: AbortSignal,
): Promise<View | undefined> {
  let current: View | undefined = view
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

function findSegment({ live }: View, quality: string, { sequence, epoch }: SegmentFile): Content | undefined {
  const rendition = live.rendition(quality)!
  const segment = rendition.window.find(sequence)
  if (segment?.epoch !== epoch) return undefined
  const { bytes, fence } = segment
  const key = liveSegmentKey(live.id, { quality, sequence, fence })
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
  view: View,
  quality: string,
  { sequence, epoch, part }: PartFile,
  viewer: ServerResponse,
): Promise<Content | undefined> {
  const { live, hasParts } = view
  const rendition = live.rendition(quality)!
  const { window } = rendition
  if (sequence > window.next) return undefined
  const isMet = () => window.has(sequence, part)
  if (hasParts && !isMet())
    await withPatience(viewer, maxWaitMs(view), (signal) => window.waitUntil(isMet, signal))
  // Playlists have announced it. Some players report an error if it is missing.
  if (live.isEnded && window.endsBefore(sequence, part))
    return inMemory(Buffer.alloc(0), segmentType, noStore)
  const body = rendition.findPart(sequence, part)?.join()
  const { open } = window.state
  const segment = open?.sequence === sequence ? open : window.find(sequence)
  if (!body || segment?.epoch !== epoch) return undefined
  const etag = `"${live.id}-${quality}-${sequence}-${epoch}.${part}"`
  return { type: segmentType, cacheControl: cacheForever, etag, size: body.length, body }
}
