import type { FastifyReply } from 'fastify'
import { ApiError, httpErrors } from './errors.ts'
import type { RateClass, RequestCounter } from './request-counter.ts'

/** Counts a request of a subject (a key, a token or an IP address), sets the headers, and throws above the limit. */
export type RateLimit = (reply: FastifyReply, subject: string, rateClass: RateClass) => void

/** Without a counter, nothing is limited. */
export function createRateLimit(counter: RequestCounter | undefined): RateLimit {
  if (!counter) return () => {}
  return (reply, subject, rateClass) => {
    const usage = counter.count(subject, rateClass)
    reply.header('x-ratelimit-limit', usage.limit)
    reply.header('x-ratelimit-remaining', usage.remaining)
    reply.header('x-ratelimit-retry-after', usage.retryAfterSeconds)
    if (!usage.isExceeded) return
    throw new ApiError(httpErrors.tooManyRequests, {
      headers: { 'retry-after': String(usage.retryAfterSeconds) },
    })
  }
}
