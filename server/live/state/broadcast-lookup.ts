import { LRUCache } from 'lru-cache'
import type { Context } from '../../context.ts'
import { maxEntries } from '../../lib/lru.ts'
import type { Broadcasts, LiveBroadcast } from './live-broadcast.ts'
import { loadBroadcast } from './load-broadcast.ts'
import type { MirrorDeps } from './mirror.ts'
import { Mirrors } from './mirrors.ts'
import { QueryCache } from './query-cache.ts'
import { type Broadcast, findBroadcast } from './store.ts'
import { findStreams, type WatchedStream } from './watched-streams.ts'

/** A broadcast, and whether this process gets its parts. */
export type BroadcastSource = { live: LiveBroadcast; liveStreamId: string; hasParts: boolean }

/** Long enough to answer many viewers with one query. */
const freshMs = 1_000

type Deps = Pick<Context, 'db'> & MirrorDeps & { broadcasts: Broadcasts }

/** The live streams and broadcasts that viewers of this process request. */
export class BroadcastLookup {
  readonly #context: Deps
  readonly #mirrors: Mirrors
  readonly #streams: QueryCache<WatchedStream>
  readonly #rows: QueryCache<Broadcast>
  readonly #stored = new LRUCache<string, Promise<LiveBroadcast>>({ ...maxEntries(200), ttl: freshMs })

  constructor(context: Deps) {
    const { config, db } = context
    this.#context = context
    this.#mirrors = new Mirrors(context, (id) => this.#rows.refresh(id))
    this.#streams = new QueryCache(async (id) => (await findStreams(db, [id], config.liveRewindSeconds))[0])
    this.#rows = new QueryCache((id) => findBroadcast(db, id))
  }

  close(): void {
    this.#mirrors.close()
  }

  findStream(id: string): Promise<WatchedStream | undefined> {
    return this.#streams.find(id)
  }

  /** The current state. Viewers that follow get the same. */
  async loadStreams(ids: string[]): Promise<WatchedStream[]> {
    const { config, db } = this.#context
    const streams = await findStreams(db, ids, config.liveRewindSeconds)
    const found = new Map(streams.map((stream) => [stream.id, stream]))
    for (const id of ids) this.#streams.set(id, found.get(id))
    return streams
  }

  /** Undefined if there is no such broadcast of the live stream. */
  async findBroadcast(liveStreamId: string, id: string): Promise<BroadcastSource | undefined> {
    const own = this.#context.broadcasts.get(id)
    const live = own && !own.closed.aborted ? own : await this.#findMirror(id)
    const source = live ? sourceWithParts(live) : await this.#findStored(id)
    return source?.liveStreamId === liveStreamId ? source : undefined
  }

  /** Undefined if the owner is out of reach, or has forgotten the broadcast after its end. */
  async #findMirror(id: string): Promise<LiveBroadcast | undefined> {
    const broadcast = await this.#rows.find(id)
    if (broadcast?.state === 'ended') return this.#mirrors.findEnded(id)
    return broadcast && this.#mirrors.find(broadcast)
  }

  async #findStored(id: string): Promise<BroadcastSource | undefined> {
    const broadcast = await this.#rows.find(id)
    if (!broadcast) return undefined
    const live = await this.#load(broadcast)
    return { live, liveStreamId: live.liveStreamId, hasParts: false }
  }

  #load(broadcast: Broadcast): Promise<LiveBroadcast> {
    const { id } = broadcast
    const known = this.#stored.get(id)
    if (known) return known
    const loaded = loadBroadcast(this.#context, broadcast)
    this.#stored.set(id, loaded)
    loaded.catch(() => this.#stored.delete(id))
    return loaded
  }
}

const sourceWithParts = (live: LiveBroadcast): BroadcastSource => ({
  live,
  liveStreamId: live.liveStreamId,
  hasParts: !live.isEnded,
})
