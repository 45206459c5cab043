/**
 * Calls `work` for each item, at most `limit` at a time. After a failure it starts no more, and waits for the running
 * calls before it throws. Not p-limit: items may come from a stream, which is read only as fast as they are processed.
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
      const call = work(item)
      running.add(call)
      call.then(() => running.delete(call)).catch(() => {})
    }
    await Promise.all(running)
  } finally {
    await Promise.allSettled(running)
  }
}
