import { LRUCache } from 'lru-cache'
import type { Context } from '../../context.ts'
import { type Broadcast, findBroadcast } from '../broadcast-store.ts'
import type { Broadcasts, LiveBroadcast } from '../live-broadcast.ts'
import { loadBroadcast } from '../load-broadcast.ts'
import type { MirrorDeps } from './mirror.ts'
import { Mirrors } from './mirrors.ts'
import { findStreams, type WatchedStream } from './store.ts'

/** A broadcast, and whether this process gets its parts. */
export type View = { live: LiveBroadcast; liveStreamId: string; hasParts: boolean }

/** Long enough to answer many viewers with one query. */
const freshMs = 1_000
/** While the database is away, viewers continue with what is known about their live stream for this long. */
const staleMs = 60_000

type Deps = Pick<Context, 'db'> & MirrorDeps & { broadcasts: Broadcasts }

/** The live streams and broadcasts that viewers of this process request. */
export class Views {
  readonly #context: Deps
  readonly #mirrors: Mirrors
  readonly #streams = new LRUCache<string, Promise<WatchedStream | undefined>>({ max: 10_000, ttl: freshMs })
  readonly #knownStreams = new LRUCache<string, WatchedStream>({ max: 10_000, ttl: staleMs })
  readonly #rows = new LRUCache<string, Promise<Broadcast | undefined>>({ max: 10_000, ttl: freshMs })
  readonly #loaded = new LRUCache<string, Promise<LiveBroadcast>>({ max: 200, ttl: freshMs })

  constructor(context: Deps) {
    this.#context = context
    this.#mirrors = new Mirrors(context)
  }

  close(): void {
    this.#mirrors.close()
  }

  findStream(id: string): Promise<WatchedStream | undefined> {
    return cached(this.#streams, id, () => this.#loadStream(id))
  }

  /** The current state. Viewers that follow get the same. */
  async loadStreams(ids: string[]): Promise<WatchedStream[]> {
    const { config, db } = this.#context
    const streams = await findStreams(db, ids, config.liveRewindSeconds)
    const found = new Map(streams.map((stream) => [stream.id, stream]))
    for (const id of ids) {
      const stream = found.get(id)
      this.#streams.set(id, Promise.resolve(stream))
      if (stream) this.#knownStreams.set(id, stream)
      else this.#knownStreams.delete(id)
    }
    return streams
  }

  /** Undefined if there is no such broadcast of the live stream. */
  async findBroadcast(liveStreamId: string, id: string): Promise<View | undefined> {
    const own = this.#context.broadcasts.get(id)
    const live = own && !own.closed.aborted ? own : await this.#findMirror(id)
    const view = live ? viewWithParts(live) : await this.#findStored(id)
    return view?.liveStreamId === liveStreamId ? view : undefined
  }

  async #loadStream(id: string): Promise<WatchedStream | undefined> {
    try {
      return (await this.loadStreams([id]))[0]
    } catch (error) {
      const known = this.#knownStreams.get(id)
      if (!known) throw error
      return known
    }
  }

  #findRow(id: string): Promise<Broadcast | undefined> {
    return cached(this.#rows, id, () => findBroadcast(this.#context.db, id))
  }

  /** Undefined if the broadcast has ended, or if its owner is out of reach. */
  async #findMirror(id: string): Promise<LiveBroadcast | undefined> {
    let broadcast: Broadcast | undefined
    try {
      broadcast = await this.#findRow(id)
    } catch (error) {
      const followed = this.#mirrors.findFollowed(id)
      if (!followed) throw error
      return followed
    }
    return broadcast && broadcast.state !== 'ended' ? this.#mirrors.find(broadcast) : undefined
  }

  async #findStored(id: string): Promise<View | undefined> {
    const broadcast = await this.#findRow(id)
    if (!broadcast) return undefined
    const live = await cached(this.#loaded, id, () => loadBroadcast(this.#context, broadcast))
    return { live, liveStreamId: live.liveStreamId, hasParts: false }
  }
}

const viewWithParts = (live: LiveBroadcast): View => ({
  live,
  liveStreamId: live.liveStreamId,
  hasParts: !live.isEnded,
})

/** A failed query is not cached. */
function cached<T>(cache: LRUCache<string, Promise<T>>, key: string, load: () => Promise<T>): Promise<T> {
  const known = cache.get(key)
  if (known) return known
  const loaded = load()
  cache.set(key, loaded)
  loaded.catch(() => {
    if (cache.peek(key) === loaded) cache.delete(key)
  })
  return loaded
}
