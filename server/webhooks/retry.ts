import type { Attempt } from './tables.ts'

/** Brief 6.1.2: 3 attempts in all, 3 seconds from the end of one to the beginning of the next. */
const attemptsInAll = 3
const betweenMs = 3_000

/** How long to wait after so many attempts; undefined: there is no other. */
export const retryAfterMs = (tries: number): number | undefined =>
  tries < attemptsInAll ? betweenMs : undefined

export type Settled =
  | { state: 'succeeded'; tries: number }
  | { state: 'pending'; tries: number; afterMs: number }
  | { state: 'failed'; tries: number }

/** What an attempt makes of its delivery, which had so many before. */
export function settle(triesBefore: number, { status }: Attempt): Settled {
  const tries = triesBefore + 1
  if (status !== null && status >= 200 && status <= 299) return { state: 'succeeded', tries }
  const afterMs = retryAfterMs(tries)
  return afterMs === undefined ? { state: 'failed', tries } : { state: 'pending', tries, afterMs }
}
