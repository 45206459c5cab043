import type { FastifyReply, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { countViewers } from '../../analytics/live-viewers.ts'
import type { Context } from '../../context.ts'
import type { App } from '../../lib/http.ts'
import { isId } from '../../lib/ids.ts'
import { maxEntries } from '../../lib/lru.ts'
import type { WakeSignal } from '../../lib/wake-signal.ts'
import { livePath, liveStreamKind } from '../../live-streams/paths.ts'
import { loadEntry } from '../../players/assets.ts'
import { emptyConfig } from '../../players/config.ts'
import { openPage } from '../../players/page-access.ts'
import { closedPage, noCache, type Page, pageSender } from '../../players/send-page.ts'
import { defaultSize } from '../../videos/iframe.ts'
import type { BroadcastLookup } from '../state/broadcast-lookup.ts'
import type { WatchedStream } from '../state/watched-streams.ts'
import { liveConfig } from './config.ts'
import { stateOf, versionOf } from './state.ts'
import { StreamWatch } from './stream-watch.ts'

const hidden = { schema: { hide: true } }

/** A request for a configuration waits this long for a change. Proxies usually wait for 60 s. */
const maxWaitMs = 20_000
/** Long enough to answer many viewers with one query. */
const viewersFreshMs = 5_000

/** The player pages of live streams. The same for both environments, since an id belongs to one of them. */
export async function livePageRoutes(
  app: App,
  context: Context & { changes: WakeSignal },
  lookup: BroadcastLookup,
): Promise<void> {
  const { sendPage, sendConfig } = pageSender(context, await loadEntry())
  const watch = new StreamWatch(context, lookup)
  const count = viewerCounts(context)
  const closing = new AbortController()
  app.addHook('preClose', (done) => {
    closing.abort()
    done()
  })
  const load = async (request: FastifyRequest, reply: FastifyReply, stream: WatchedStream | undefined) =>
    loadPage(context, request, reply, stream && { stream, viewers: await count(stream) })

  app.get(livePath(':liveStreamId'), hidden, async (request, reply) =>
    sendPage(request, reply, await load(request, reply, await findStream(lookup, request))),
  )
  app.get(`${livePath(':liveStreamId')}/config.json`, hidden, async (request, reply) => {
    const { wait: [version] = [] } = request.query as { wait?: string[] }
    const stream = version === undefined ? undefined : await findVersion(lookup, request, version)
    const page = await load(request, reply, stream ?? (await findStream(lookup, request)))
    // Without access there is nothing to wait for.
    if (!stream || !page.config.live) return sendConfig(reply, page)
    const left = new AbortController()
    reply.raw.once('close', () => left.abort())
    const signals = [left.signal, closing.signal, AbortSignal.timeout(maxWaitMs)]
    await watch.waitForChange(stream, AbortSignal.any(signals))
    return sendConfig(reply, await load(request, reply, await lookup.findStream(stream.id)))
  })
}

async function findStream(
  lookup: BroadcastLookup,
  request: FastifyRequest,
): Promise<WatchedStream | undefined> {
  const { liveStreamId } = request.params as { liveStreamId: string }
  return isId('li', liveStreamId) ? (await lookup.loadStreams([liveStreamId]))[0] : undefined
}

/** Undefined if the stream no longer has this version. */
async function findVersion(
  lookup: BroadcastLookup,
  request: FastifyRequest,
  version: string,
): Promise<WatchedStream | undefined> {
  const { liveStreamId } = request.params as { liveStreamId: string }
  const stream = isId('li', liveStreamId) ? await lookup.findStream(liveStreamId) : undefined
  return stream && versionOf(stream) === version ? stream : undefined
}

/** Counts the viewers of streams whose owner wants to show the number. */
function viewerCounts({ db, now }: Context): (stream: WatchedStream) => Promise<number | null> {
  const counts = new LRUCache<string, Promise<number>>({ ...maxEntries(10_000), ttl: viewersFreshMs })
  return async (stream) => {
    const { id: mediaId, environment, showsViewers } = stream
    if (!showsViewers || stateOf(stream) !== 'live') return null
    const known = counts.get(mediaId)
    if (known) return known
    const counted = countViewers(db, { environment, mediaId }, now())
    counts.set(mediaId, counted)
    counted.catch(() => counts.delete(mediaId))
    return counted
  }
}

type Shown = { stream: WatchedStream; viewers: number | null }

async function loadPage(
  context: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  shown: Shown | undefined,
): Promise<Page> {
  // An id that does not exist is not repeated in the page.
  if (!shown) return closedPage(emptyConfig({ videoId: '', type: 'live' }, 'missing'))
  const { stream, viewers } = shown
  const state = stateOf(stream)
  const isPlayable = state === 'live' || state === 'away'
  const media = { kind: liveStreamKind, ...stream }
  const opened = await openPage(context, request, reply, media, isPlayable)
  if (!opened) return closedPage(emptyConfig({ videoId: stream.id, type: 'live' }, 'private'))
  return {
    config: liveConfig(stream, { ...opened, viewers }),
    preview: stream.public ? { description: '', size: defaultSize } : undefined,
    cacheControl: noCache,
  }
}
