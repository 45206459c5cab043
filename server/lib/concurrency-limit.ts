export type ConcurrencyLimit = {
  /** Returns undefined at once when the queue is full. */
  run<T>(work: () => Promise<T>): Promise<T> | undefined
}

/**
 * Runs up to `maxRunning` functions at once and queues up to `maxQueued` more. Not p-limit: its queue has no bound, and
 * its counts lag by a microtask, so that a bound around it would reject calls that have a place.
 */
export function createConcurrencyLimit(maxRunning: number, maxQueued: number): ConcurrencyLimit {
  const queue: (() => void)[] = []
  let running = 0
  const run = async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= maxRunning) await new Promise<void>((resolve) => queue.push(resolve))
    else running += 1
    try {
      return await work()
    } finally {
      // The slot passes directly to the next in the queue, so that no new call takes it in between.
      const next = queue.shift()
      if (next) next()
      else running -= 1
    }
  }
  return {
    run: (work) => (running >= maxRunning && queue.length >= maxQueued ? undefined : run(work)),
  }
}
