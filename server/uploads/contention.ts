import { type Bell, createBell } from '../lib/bell.ts'
import { createTurns, type Turns } from '../lib/turns.ts'

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
  const all = createTurns(transactionsAtOnce, Number.POSITIVE_INFINITY)
  const sources = new Map<string, { turns: Turns; users: number }>()
  const entered = new Map<string, { bell: Bell; count: number }>()
  return {
    async exclusively(videoId, work) {
      const source = sources.get(videoId) ?? {
        turns: createTurns(1, Number.POSITIVE_INFINITY),
        users: 0,
      }
      sources.set(videoId, source)
      source.users += 1
      try {
        // Never undefined: any number may wait.
        return await source.turns.take(() => all.take(work)!)!
      } finally {
        source.users -= 1
        if (source.users === 0) sources.delete(videoId)
      }
    },

    enter(key, max) {
      const group = entered.get(key) ?? { bell: createBell(), count: 0 }
      if (group.count >= max) return undefined
      entered.set(key, group)
      group.count += 1
      return {
        listen: () => group.bell.listen(),
        leave() {
          group.count -= 1
          if (group.count === 0) entered.delete(key)
          group.bell.ring()
        },
      }
    },
  }
}
