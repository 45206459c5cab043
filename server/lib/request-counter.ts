export type RateClass = 'uploads' | 'writes' | 'reads'

export type Usage = { limit: number; remaining: number; retryAfterSeconds: number; isExceeded: boolean }

const windowMs = 60_000

/**
 * Counts requests by subject and class in windows of a minute. The counts are in memory: each process counts for itself,
 * which is enough to stop a runaway client and costs no database query.
 */
export function createRequestCounter(limits: Record<RateClass, number>, now: () => number) {
  const counts = new Map<string, number>()
  let windowEndsAt = 0

  return function countRequest(subject: string, rateClass: RateClass): Usage {
    const time = now()
    if (time >= windowEndsAt) {
      counts.clear()
      windowEndsAt = time + windowMs
    }
    const slot = `${subject} ${rateClass}`
    const count = (counts.get(slot) ?? 0) + 1
    counts.set(slot, count)
    const limit = limits[rateClass]
    return {
      limit,
      remaining: Math.max(0, limit - count),
      retryAfterSeconds: Math.ceil((windowEndsAt - time) / 1000),
      isExceeded: count > limit,
    }
  }
}
