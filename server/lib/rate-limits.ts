export type RateClass = 'uploads' | 'writes' | 'reads'

export type Usage = { limit: number; remaining: number; retryAfterSeconds: number; isExceeded: boolean }

const windowMs = 60_000

/**
 * Counts requests by key and class in windows of a minute. Kept in memory: each process counts for itself, which
 * is enough to stop a runaway program and costs no round trip.
 */
export function createRateLimits(limits: Record<RateClass, number>, now: () => number) {
  const used = new Map<string, number>()
  let windowEndsAt = 0

  return function use(keyId: string, rateClass: RateClass): Usage {
    const time = now()
    if (time >= windowEndsAt) {
      used.clear()
      windowEndsAt = time + windowMs
    }
    const slot = `${keyId} ${rateClass}`
    const count = (used.get(slot) ?? 0) + 1
    used.set(slot, count)
    const limit = limits[rateClass]
    return {
      limit,
      remaining: Math.max(0, limit - count),
      retryAfterSeconds: Math.ceil((windowEndsAt - time) / 1000),
      isExceeded: count > limit,
    }
  }
}
