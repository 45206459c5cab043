import { LRUCache } from 'lru-cache'
import { maxEntries } from '../../lib/lru.ts'
import { settled } from '../../lib/settled.ts'
import type { LiveBroadcast } from './live-broadcast.ts'
import { Mirror, type MirrorDeps } from './mirror.ts'
import type { Broadcast } from './store.ts'

/** Each holds about ten seconds of a broadcast in memory. Further broadcasts have playlists without parts. */
const maxMirrors = 100
const idleMs = 30_000
const checkMs = 10_000
const minRetryMs = 500
const maxRetryMs = 15_000
/** A viewer gets a playlist without parts if the owner takes longer. */
const maxWaitMs = 3_000

type Followed = { mirror: Mirror; startedAt: number; askedAt: number; isReady: boolean }
/** The last connection to an owner has ended. */
type Lost = { fence: number; failures: number; retryAt: number }

/** The broadcasts of other processes that viewers of this process watch. */
export class Mirrors {
  readonly #deps: MirrorDeps
  readonly #followed = new Map<string, Followed>()
  readonly #lost = new LRUCache<string, Lost>(maxEntries(10_000))
  readonly #onLost: (id: string) => void
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  /** `onLost` is called when a connection to an owner has ended. Its broadcast may have changed just before. */
  constructor(deps: MirrorDeps, onLost: (id: string) => void) {
    this.#deps = deps
    this.#onLost = onLost
  }

  /** How many are followed, including those whose owner has not answered yet. */
  get size(): number {
    return this.#followed.size
  }

  /** Undefined if the owner is out of reach. */
  async find(broadcast: Broadcast): Promise<LiveBroadcast | undefined> {
    const { id, fence } = broadcast
    const known = this.#followed.get(id)
    if (known && known.mirror.live.fence < fence) this.#close(id, known)
    const followed = this.#followed.get(id) ?? this.#follow(broadcast)
    if (!followed) return undefined
    followed.askedAt = this.#now()
    // Only the first viewers after a change of the owner wait.
    const isRetry = this.#lost.get(id)?.fence === fence
    const waitMs = isRetry ? 0 : followed.startedAt + maxWaitMs - this.#now()
    if (!followed.isReady && waitMs > 0) await settled(followed.mirror.ready, waitMs)
    return followed.isReady ? followed.mirror.live : undefined
  }

  /** A broadcast that has ended is not followed anew. */
  findEnded(id: string): LiveBroadcast | undefined {
    const followed = this.#followed.get(id)
    return followed?.isReady && followed.mirror.live.isEnded ? followed.mirror.live : undefined
  }

  close(): void {
    this.#isClosed = true
    clearInterval(this.#timer)
    for (const [id, followed] of this.#followed) this.#close(id, followed)
  }

  #follow(broadcast: Broadcast): Followed | undefined {
    const { id, fence } = broadcast
    const lost = this.#lost.get(id)
    const mustWait = lost?.fence === fence && this.#now() < lost.retryAt
    if (this.#isClosed || mustWait || this.#followed.size >= maxMirrors) return undefined
    const mirror = new Mirror(this.#deps, broadcast)
    const startedAt = this.#now()
    const followed = { mirror, startedAt, askedAt: startedAt, isReady: false }
    this.#followed.set(id, followed)
    mirror.ready.then((isReady) => {
      followed.isReady = isReady && !mirror.live.closed.aborted
    })
    mirror.live.closed.addEventListener('abort', () => this.#lose(id, followed))
    this.#timer ??= setInterval(() => this.#closeIdle(), checkMs).unref()
    return followed
  }

  /** Without a pause, a viewer that asks again at once would make us connect again at once. */
  #lose(id: string, followed: Followed): void {
    followed.isReady = false
    if (this.#followed.get(id) !== followed) return
    this.#onLost(id)
    this.#followed.delete(id)
    const { fence } = followed.mirror.live
    const before = this.#lost.get(id)
    const wasStable = this.#now() - followed.startedAt > maxRetryMs
    const failures = before?.fence === fence && !wasStable ? before.failures + 1 : 0
    const retryAt = this.#now() + Math.min(maxRetryMs, minRetryMs * 2 ** failures)
    this.#lost.set(id, { fence, failures, retryAt })
  }

  #closeIdle(): void {
    for (const [id, followed] of this.#followed)
      if (followed.askedAt < this.#now() - idleMs) this.#close(id, followed)
  }

  #close(id: string, { mirror }: Followed): void {
    this.#followed.delete(id)
    mirror.close()
  }

  #now(): number {
    return this.#deps.now().getTime()
  }
}
