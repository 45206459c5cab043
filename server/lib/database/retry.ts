import { setTimeout as delay } from 'node:timers/promises'
import { DatabaseError, saysToWait, unreachable } from './errors.ts'

const retryForMs = 60_000
const retryEveryMs = 100

type Retries = {
  isRetryable(error: unknown): boolean
  onRetry?(error: unknown): void
  /** Ends the wait. */
  signal?: AbortSignal | undefined
}

/** Retries while the error or its cause is retryable, until a minute after the server last said to wait. */
export async function retryWhile<T>(
  { isRetryable, onRetry, signal }: Retries,
  work: () => Promise<T>,
): Promise<T> {
  let deadline = Date.now() + retryForMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const cause = error instanceof Error ? error.cause : undefined
      const found = [error, cause].find(isRetryable)
      if (found === undefined) throw error
      if (Date.now() > deadline) throw error instanceof DatabaseError ? error : unreachable(found)
      if (saysToWait(found)) deadline = Date.now() + retryForMs
      onRetry?.(found)
    }
    await delay(retryEveryMs, undefined, { signal })
  }
}
