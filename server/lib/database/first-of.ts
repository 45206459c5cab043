/** How long an attempt may take before the next one starts beside it, as for the addresses of a name (RFC 8305). */
const startNextAfterMs = 250

/**
 * The result of the first attempt that succeeds. They start in the order of the items: the next one when one has failed or
 * takes long. Rejects with all errors if none succeeds.
 */
export function firstOf<T, R>(items: T[], attempt: (item: T) => Promise<R>): Promise<R> {
  return new Promise((resolve, reject) => {
    const errors: unknown[] = []
    let next = 0
    let timer: NodeJS.Timeout | undefined
    const finish = (end: () => void) => {
      next = items.length
      clearTimeout(timer)
      end()
    }
    const start = () => {
      clearTimeout(timer)
      if (next >= items.length) return
      const item = items[next++]!
      timer = setTimeout(start, startNextAfterMs)
      attempt(item).then(
        (result) => finish(() => resolve(result)),
        (error) => {
          if (errors.push(error) === items.length) finish(() => reject(new AggregateError(errors)))
          else start()
        },
      )
    }
    if (items.length === 0) reject(new AggregateError(errors))
    start()
  })
}
