/** All of them, so many at a time; after a failure no more are begun, and those under way are waited for. */
export async function inParallel<T>(
  items: AsyncIterable<T> | Iterable<T>,
  limit: number,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const flying = new Set<Promise<unknown>>()
  try {
    for await (const item of items) {
      while (flying.size >= limit) await Promise.race(flying)
      const one = work(item)
      flying.add(one)
      one.then(() => flying.delete(one)).catch(() => {})
    }
    await Promise.all(flying)
  } finally {
    await Promise.allSettled(flying)
  }
}
