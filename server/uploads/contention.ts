import { type ConcurrencyLimit, createConcurrencyLimit } from '../lib/concurrency-limit.ts'
import { createWakeSignal, type WakeSignal } from '../lib/wake-signal.ts'

/** What the requests of this process know of each other, so that waiting costs no database connection. */
export type Contention = {
  /** Runs one piece of work at a time for each source, and few in all. */
  exclusively<T>(videoId: string, work: () => Promise<T>): Promise<T>
  /** Joins the requests that want the same thing. Undefined when there are `max` already. */
  enter(key: string, max: number): Entry | undefined
}

export type Entry = {
  /**
   * To be called before looking whether the thing is free, so that a release in between is not missed. The wait ends
   * when another request leaves, or after the time.
   */
  listen(): (withinMs: number) => Promise<void>
  /** Wakes the others. */
  leave(): void
}

/** Uploads leave most of the 20 database connections to the other requests. */
const transactionsAtOnce = 8

export function createContention(): Contention {
  const all = createConcurrencyLimit(transactionsAtOnce, Number.POSITIVE_INFINITY)
  const sources = new Map<string, { limit: ConcurrencyLimit; users: number }>()
  const entered = new Map<string, { signal: WakeSignal; count: number }>()
  return {
    async exclusively(videoId, work) {
      const source = sources.get(videoId) ?? {
        limit: createConcurrencyLimit(1, Number.POSITIVE_INFINITY),
        users: 0,
      }
      sources.set(videoId, source)
      source.users += 1
      try {
        // Never undefined: any number may wait.
        return await source.limit.run(() => all.run(work)!)!
      } finally {
        source.users -= 1
        if (source.users === 0) sources.delete(videoId)
      }
    },

    enter(key, max) {
      const group = entered.get(key) ?? { signal: createWakeSignal(), count: 0 }
      if (group.count >= max) return undefined
      entered.set(key, group)
      group.count += 1
      return {
        listen: () => group.signal.listen(),
        leave() {
          group.count -= 1
          if (group.count === 0) entered.delete(key)
          group.signal.wake()
        },
      }
    },
  }
}
