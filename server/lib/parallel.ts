/**
 * Runs `work` for all items, at most `limit` at a time. After a failure no more items are started, and running ones are
 * awaited. Unlike p-limit, it takes the next item of an async iterable only when there is a free place, so a long list
 * or a body is never buffered.
 */
export async function inParallel<T>(
  items: AsyncIterable<T> | Iterable<T>,
  limit: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const running = new Set<Promise<unknown>>()
  try {
    for await (const item of items) {
      while (running.size >= limit) await Promise.race(running)
      const promise = work(item)
      running.add(promise)
      promise.then(() => running.delete(promise)).catch(() => {})
    }
    await Promise.all(running)
  } finally {
    await Promise.allSettled(running)
  }
}
