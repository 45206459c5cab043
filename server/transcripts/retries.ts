import { ApiError } from '../lib/errors.ts'
import type { Lease } from '../lib/leases.ts'
import type { Log } from '../lib/log.ts'
import type { LeasedWork } from '../lib/work-loop.ts'
import { isTransient } from '../media/transient-errors.ts'
import { ServerError } from './server-request.ts'

/** With the delays below, a server may be unavailable for 20 minutes. */
const maxAttempts = 8
const firstDelayMs = 10_000
const maxDelayMs = 600_000

/** The work on rows that count their failed attempts. */
export type CountedWork = Pick<LeasedWork<Lease>, 'name' | 'concurrency' | 'claim' | 'renew' | 'run'> & {
  release(lease: Lease, options: { afterMs: number; isFailure: boolean }): Promise<void>
  /** The number of failed attempts. */
  attemptsOf(lease: Lease): Promise<number>
  /** Records a failure that is not retried. `reason` is shown to the owner of the video. */
  giveUp(lease: Lease, reason: string): Promise<void>
}

/** Retries work that has failed, each time after a longer delay, until it has failed too often. */
export const withRetries = (work: CountedWork, log: Log): LeasedWork<Lease> => ({
  ...work,
  isTransient,
  detailsOf: ({ id }) => ({ id }),
  release: (lease, afterMs) => work.release(lease, { afterMs, isFailure: false }),
  async run(lease, signal) {
    // A row that makes every worker stop would otherwise be retried forever.
    if ((await work.attemptsOf(lease)) >= maxAttempts)
      return work.giveUp(lease, 'Every worker that tried it stopped before it had finished.')
    await work.run(lease, signal)
  },
  async fail(lease, err) {
    const attempts = (await work.attemptsOf(lease)) + 1
    const isFinal =
      attempts >= maxAttempts || err instanceof ApiError || (err instanceof ServerError && !err.isRetryable)
    const details = { err, work: work.name, id: lease.id }
    log.warn(details, isFinal ? 'work failed' : 'work failed and is retried')
    if (isFinal) return work.giveUp(lease, reasonOf(err))
    await work.release(lease, { afterMs: delayAfter(attempts, err), isFailure: true })
  },
})

/** Errors of servers and of the API have messages for owners. The log has the details of all others. */
const reasonOf = (error: unknown) =>
  error instanceof ServerError || error instanceof ApiError
    ? error.message
    : 'An internal error occurred repeatedly.'

export function delayAfter(attempts: number, error: unknown): number {
  const wantedMs = error instanceof ServerError ? (error.retryAfterMs ?? 0) : 0
  return Math.max(wantedMs, Math.min(maxDelayMs, firstDelayMs * 2 ** (attempts - 1)))
}
