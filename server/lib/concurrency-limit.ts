import pLimit from 'p-limit'

/** Runs a limited number of tasks at the same time. The other tasks wait, and their number is limited as well. */
export type ConcurrencyLimit = {
  /** Undefined, without waiting, when too many tasks are waiting already. */
  run<T>(work: () => Promise<T>): Promise<T> | undefined
}

export function createConcurrencyLimit(maxRunning: number, maxWaiting: number): ConcurrencyLimit {
  const limit = pLimit(maxRunning)
  return {
    run: (work) => {
      const isFull = limit.activeCount >= maxRunning && limit.pendingCount >= maxWaiting
      return isFull ? undefined : limit(work)
    },
  }
}
