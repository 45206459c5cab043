import type { GuardedResponse } from '../../lib/fetch/exchange.ts'

/** A longer wait is more likely a mistake, or a time in another unit. */
const maxWaitMs = 3_600_000
/** Larger numbers are a time, not a duration. */
const isTime = (seconds: number) => seconds > 1e9

/**
 * How long to wait before the next request: after a response with `Retry-After`, or with the last request of a period.
 * Undefined if the service accepts more requests.
 */
export function readWait(
  { status, headers }: Pick<GuardedResponse, 'status' | 'headers'>,
  now = Date.now(),
): number | undefined {
  const isRefused = status === 429 || status === 503
  const isLast = headers['x-ratelimit-remaining'] === '0' || headers['ratelimit-remaining'] === '0'
  if (!isRefused && !isLast) return undefined
  for (const name of ['retry-after', 'x-ratelimit-retry-after', 'x-ratelimit-reset', 'ratelimit-reset']) {
    const waitMs = readDelay(headers[name], now)
    if (waitMs !== undefined) return Math.min(maxWaitMs, Math.max(0, waitMs))
  }
  return undefined
}

function readDelay(value: string | string[] | undefined, now: number): number | undefined {
  if (typeof value !== 'string' || value === '') return undefined
  const seconds = Number(value)
  if (Number.isFinite(seconds)) return isTime(seconds) ? seconds * 1000 - now : seconds * 1000
  const time = Date.parse(value)
  return Number.isNaN(time) ? undefined : time - now
}
