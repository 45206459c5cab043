import type { Transaction } from 'kysely'
import pLimit, { type LimitFunction } from 'p-limit'
import type { Context } from '../../context.ts'
import { createWakeSignal, type WakeSignal } from '../../lib/wake-signal.ts'
import type { Tables } from '../../tables.ts'

/** Coordinates the upload requests of this process, so that a waiting request takes no database connection. */
export type UploadCoordinator = {
  /** Runs one task at a time for each source, and few in total. */
  runExclusive<T>(videoId: string, work: () => Promise<T>): Promise<T>
  /** Joins the group of requests for the same thing. Undefined when the group has `max` members already. */
  join(key: string, max: number): Membership | undefined
}

export type Membership = {
  /**
   * To be called before checking whether the thing is free, so that a release in between is not missed. The wait ends
   * when another member leaves, or after the given time.
   */
  listen(): (withinMs: number) => Promise<void>
  /** Wakes the other members. */
  leave(): void
}

/** What requests that upload need. */
export type UploadContext = Pick<Context, 'config' | 'db' | 'files' | 'queue' | 'now' | 'log' | 'metrics'> & {
  coordinator: UploadCoordinator
}

/** Leaves most of the 20 database connections to other requests. */
const maxTransactions = 8

export function createUploadCoordinator(): UploadCoordinator {
  const limitAll = pLimit(maxTransactions)
  const sources = new Map<string, { limit: LimitFunction; users: number }>()
  const groups = new Map<string, { signal: WakeSignal; size: number }>()
  return {
    async runExclusive(videoId, work) {
      const source = sources.get(videoId) ?? { limit: pLimit(1), users: 0 }
      sources.set(videoId, source)
      source.users += 1
      try {
        return await source.limit(() => limitAll(work))
      } finally {
        source.users -= 1
        if (source.users === 0) sources.delete(videoId)
      }
    },

    join(key, max) {
      const group = groups.get(key) ?? { signal: createWakeSignal(), size: 0 }
      if (group.size >= max) return undefined
      groups.set(key, group)
      group.size += 1
      return {
        listen: () => group.signal.listen(),
        leave() {
          group.size -= 1
          if (group.size === 0) groups.delete(key)
          group.signal.wake()
        },
      }
    },
  }
}

/** A transaction that changes a source. Requests of this process wait for each other without a database connection. */
export function changeSource<T>(
  { db, coordinator }: Pick<UploadContext, 'db' | 'coordinator'>,
  videoId: string,
  work: (trx: Transaction<Tables>) => Promise<T>,
): Promise<T> {
  return coordinator.runExclusive(videoId, () => db.transaction().execute(work))
}
