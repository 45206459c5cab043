import { LRUCache } from 'lru-cache'
import type { Context } from '../../context.ts'
import { findBroadcast } from '../broadcast-store.ts'
import type { Broadcasts, LiveBroadcast } from '../live-broadcast.ts'
import { loadBroadcast } from '../load-broadcast.ts'
import { findStream, type WatchedStream } from './store.ts'

/** A broadcast, and whether this process gets its parts. */
export type View = { live: LiveBroadcast; liveStreamId: string; hasParts: boolean }

type Deps = Pick<Context, 'config' | 'db'> & { broadcasts: Broadcasts }

/** Long enough to answer many viewers with one query. */
const freshMs = 1_000

/** The live streams and broadcasts that viewers of this process request. */
export class Views {
  readonly #context: Deps
  readonly #streams: LRUCache<string, Promise<WatchedStream | undefined>>
  readonly #loaded: LRUCache<string, Promise<View | undefined>>

  constructor(context: Deps) {
    this.#context = context
    this.#streams = new LRUCache({ max: 10_000, ttl: freshMs })
    this.#loaded = new LRUCache({ max: 200, ttl: freshMs })
  }

  findStream(id: string): Promise<WatchedStream | undefined> {
    const { config, db } = this.#context
    return cached(this.#streams, id, () => findStream(db, id, config.liveRewindSeconds))
  }

  /** Undefined if there is no such broadcast of the live stream. */
  async findBroadcast(liveStreamId: string, id: string): Promise<View | undefined> {
    const own = this.#context.broadcasts.get(id)
    const view = own ? await this.#own(own) : await cached(this.#loaded, id, () => this.#load(id))
    return view?.liveStreamId === liveStreamId ? view : undefined
  }

  async #own(live: LiveBroadcast): Promise<View> {
    return { live, liveStreamId: live.liveStreamId, hasParts: !live.isEnded }
  }

  async #load(id: string): Promise<View | undefined> {
    const broadcast = await findBroadcast(this.#context.db, id)
    if (!broadcast) return undefined
    const live = await loadBroadcast(this.#context, broadcast)
    return { live, liveStreamId: broadcast.live_stream_id, hasParts: false }
  }
}

/** A failed query is not cached. */
function cached<T>(cache: LRUCache<string, Promise<T>>, key: string, load: () => Promise<T>): Promise<T> {
  const known = cache.get(key)
  if (known) return known
  const loaded = load()
  cache.set(key, loaded)
  loaded.catch(() => cache.delete(key))
  return loaded
}
