import type { FastifyReply } from 'fastify'
import { ApiError, httpErrors } from './errors.ts'
import { createRateLimits, type RateClass } from './rate-limits.ts'

/** Counts a request of the subject (a key, a token or an IP address), sets the rate limit headers, and throws above the limit. */
export type Limit = (reply: FastifyReply, subject: string, rateClass: RateClass) => void

/** Without `limits`, nothing is limited. */
export function createLimit(limits: Record<RateClass, number> | undefined, now: () => Date): Limit {
  if (!limits) return () => {}
  const use = createRateLimits(limits, () => now().getTime())
  return (reply, subject, rateClass) => {
    const usage = use(subject, rateClass)
    reply.header('x-ratelimit-limit', usage.limit)
    reply.header('x-ratelimit-remaining', usage.remaining)
    reply.header('x-ratelimit-retry-after', usage.retryAfterSeconds)
    if (!usage.isExceeded) return
    throw new ApiError(httpErrors.tooManyRequests, {
      headers: { 'retry-after': String(usage.retryAfterSeconds) },
    })
  }
}
