import { LRUCache } from 'lru-cache'
import type { Context } from '../../context.ts'
import { createConcurrencyLimit } from '../../lib/concurrency-limit.ts'
import { maxEntries } from '../../lib/lru.ts'
import { settled } from '../../lib/settled.ts'
import type { WatchedStream } from '../state/watched-streams.ts'
import { chooseSegment, type FrameDeps, makeFrame } from './make-frame.ts'
import * as store from './store.ts'

/** All processes together make one frame of a broadcast within this time, if anybody requests it. */
export const freshMs = 10_000
/** The first segment is stored soon. */
const retryMs = 1_000
/** A busy machine takes long. A request waits for a newer frame than the last, and longer if there is none. */
const maxWaitMs = 1_000
const maxFirstWaitMs = 4_000

type Frame = Pick<store.StoredFrame, 'data' | 'sequence'>
type Known = { last: Frame | undefined; lookAt: number; looking: Promise<void> | undefined }

/** What is on air, as images. They are made from stored segments, so any process can make them. */
export class LiveFrames {
  readonly #deps: FrameDeps & Pick<Context, 'db' | 'log' | 'now'>
  readonly #known = new LRUCache<string, Known>(maxEntries(500))
  /** One at a time, because broadcasts need the processor more. */
  readonly #limit = createConcurrencyLimit(1, 100)

  constructor(deps: FrameDeps & Pick<Context, 'db' | 'log' | 'now'>) {
    this.#deps = deps
  }

  /** Undefined if the stream is off air, or if there is no frame yet. */
  async find({ broadcast }: WatchedStream): Promise<Buffer | undefined> {
    if (!broadcast || broadcast.state === 'ended') return undefined
    const known = this.#knownOf(broadcast.id)
    if (!known.looking && this.#now() >= known.lookAt) {
      known.looking = this.#look(broadcast.id, known).finally(() => {
        known.looking = undefined
      })
    }
    if (known.looking) await settled(known.looking, maxWaitMs)
    if (known.looking && !known.last) await settled(known.looking, maxFirstWaitMs)
    return known.last?.data
  }

  #knownOf(broadcastId: string): Known {
    const found = this.#known.get(broadcastId)
    if (found) return found
    const known = { last: undefined, lookAt: 0, looking: undefined }
    this.#known.set(broadcastId, known)
    return known
  }

  async #look(broadcastId: string, known: Known): Promise<void> {
    const { db, log } = this.#deps
    try {
      const stored = await store.findFrame(db, broadcastId)
      known.last = stored ?? known.last
      const freshForMs = stored ? freshMs - stored.ageMs : 0
      if (freshForMs <= 0)
        known.last = (await this.#makeNext(broadcastId, known.last?.sequence)) ?? known.last
      known.lookAt = this.#now() + (freshForMs > 0 ? freshForMs : known.last ? freshMs : retryMs)
    } catch (err) {
      known.lookAt = this.#now() + freshMs
      log.warn({ err, broadcastId }, 'live: a frame cannot be made')
    }
  }

  /** Undefined if there is nothing newer, or too much to do. */
  async #makeNext(broadcastId: string, after: number | undefined): Promise<Frame | undefined> {
    const { db } = this.#deps
    return this.#limit.run(async () => {
      const segment = chooseSegment(await store.listNewestSegments(db, broadcastId))
      if (!segment || segment.sequence === after) return undefined
      const data = await makeFrame(this.#deps, segment)
      await store.saveFrame(db, segment, data)
      return { data, sequence: segment.sequence }
    })
  }

  #now(): number {
    return this.#deps.now().getTime()
  }
}
