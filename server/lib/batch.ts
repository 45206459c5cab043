import DataLoader from 'dataloader'

/**
 * Combines the lookups of one event loop iteration into one call of `loadAll`, which returns a value for each key, in
 * the order of the keys. Nothing is cached, so a value is never older than the request for it.
 */
export function batch<Key, Value>(
  maxBatchSize: number,
  loadAll: (keys: Key[]) => Promise<Value[]>,
): (key: Key) => Promise<Value> {
  const loader = new DataLoader<Key, Value>((keys) => loadAll([...keys]), {
    cache: false,
    maxBatchSize,
    batchScheduleFn: (dispatch) => setImmediate(dispatch),
  })
  return (key) => loader.load(key)
}
