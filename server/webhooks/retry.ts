import type { Attempt } from './tables.ts'

/** Brief 6.1.2: 3 attempts, with 3 seconds from the end of one to the start of the next. */
const maxAttempts = 3
const retryDelayMs = 3_000

/** The delay before the next attempt, or undefined after the last one. */
export const retryAfterMs = (tries: number): number | undefined =>
  tries < maxAttempts ? retryDelayMs : undefined

export type NextState =
  | { state: 'succeeded'; tries: number }
  | { state: 'pending'; tries: number; afterMs: number }
  | { state: 'failed'; tries: number }

/** The state of a delivery after an attempt. */
export function nextState(triesBefore: number, { status }: Attempt): NextState {
  const tries = triesBefore + 1
  if (status !== null && status >= 200 && status <= 299) return { state: 'succeeded', tries }
  const afterMs = retryAfterMs(tries)
  return afterMs === undefined ? { state: 'failed', tries } : { state: 'pending', tries, afterMs }
}
