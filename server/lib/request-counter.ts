import { createHash } from 'node:crypto'

export type RateClass = 'uploads' | 'writes' | 'reads'

type Usage = { limit: number; remaining: number; retryAfterSeconds: number; isExceeded: boolean }

/** A hash of a subject and a class, and how many requests were counted since the last time. */
export type CountedRequests = [hash: string, requests: number]

export type RequestCounter = {
  count(subject: string, rateClass: RateClass): Usage
  /** The requests that were counted here since the last call: those of the subjects with the most. */
  takeCounted(max: number): CountedRequests[]
  /** Adds requests that other processes have counted. */
  add(counted: CountedRequests[]): void
}

const windowMs = 60_000
const hashBytes = 12
/** Far more subjects than an installation has. Beyond, the requests of other processes do not count. */
const maxOthers = 100_000

type Slot = { hash: string; own: number; taken: number }

/**
 * Counts requests by subject and class in windows of a minute, in memory, so that counting costs no database query.
 * Windows begin with the minutes of the clock, so that all processes have the same ones.
 */
export function createRequestCounter(limits: Record<RateClass, number>, now: () => number): RequestCounter {
  const slots = new Map<string, Slot>()
  const others = new Map<string, number>()
  let windowEndsAt = 0

  function enterWindow(): number {
    const time = now()
    // A clock that was set back would keep the window open for longer than a minute.
    if (time >= windowEndsAt || time < windowEndsAt - windowMs) {
      slots.clear()
      others.clear()
      windowEndsAt = (Math.floor(time / windowMs) + 1) * windowMs
    }
    return time
  }

  return {
    count(subject, rateClass) {
      const time = enterWindow()
      const name = `${subject} ${rateClass}`
      let slot = slots.get(name)
      if (!slot) {
        slot = { hash: hashOf(name), own: 0, taken: 0 }
        slots.set(name, slot)
      }
      slot.own++
      const count = slot.own + (others.get(slot.hash) ?? 0)
      const limit = limits[rateClass]
      return {
        limit,
        remaining: Math.max(0, limit - count),
        retryAfterSeconds: Math.ceil((windowEndsAt - time) / 1000),
        isExceeded: count > limit,
      }
    },
    takeCounted(max) {
      enterWindow()
      const changed = [...slots.values()].filter(({ own, taken }) => own > taken)
      changed.sort((a, b) => b.own - b.taken - (a.own - a.taken))
      return changed.slice(0, max).map((slot) => {
        const requests = slot.own - slot.taken
        slot.taken = slot.own
        return [slot.hash, requests]
      })
    },
    add(counted) {
      enterWindow()
      for (const [hash, requests] of counted)
        if (others.size < maxOthers || others.has(hash)) others.set(hash, (others.get(hash) ?? 0) + requests)
    },
  }
}

/** Subjects may be secret tokens, which must not be sent to other processes. */
const hashOf = (name: string) =>
  createHash('sha256').update(name).digest().subarray(0, hashBytes).toString('base64url')
