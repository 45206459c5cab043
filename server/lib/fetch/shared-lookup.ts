import type { Lookup } from './dial.ts'

type Callback = Parameters<Lookup>[2]

/**
 * Asks once for all who want to know the same name at the same time. The system looks up two names at once: without
 * this, one name whose servers do not answer would keep everybody waiting as soon as it is wanted twice.
 */
export function shareLookups(lookup: Lookup): Lookup {
  const waiting = new Map<string, Callback[]>()
  return (host, options, callback) => {
    const others = waiting.get(host)
    if (others) {
      others.push(callback)
      return
    }
    const all = [callback]
    waiting.set(host, all)
    lookup(host, options, (error, answers) => {
      waiting.delete(host)
      for (const each of all) each(error, answers)
    })
  }
}
