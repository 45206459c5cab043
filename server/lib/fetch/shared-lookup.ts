import type { Lookup } from './dial.ts'

type Callback = Parameters<Lookup>[2]

/**
 * Concurrent lookups of the same name share one query. The system runs only two lookups at a time: without this, two
 * requests for a name whose servers do not respond would block all other lookups.
 */
export function shareLookups(lookup: Lookup): Lookup {
  const waiting = new Map<string, Callback[]>()
  return (host, options, callback) => {
    const pending = waiting.get(host)
    if (pending) {
      pending.push(callback)
      return
    }
    const callbacks = [callback]
    waiting.set(host, callbacks)
    lookup(host, options, (error, answers) => {
      waiting.delete(host)
      for (const each of callbacks) each(error, answers)
    })
  }
}
