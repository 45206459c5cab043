import { randomUUID } from 'node:crypto'
import { ApiError } from '../lib/errors.ts'
import { keepLease, type Lease, leaseMs } from '../lib/leases.ts'
import type { Log } from '../lib/log.ts'
import { createWakeSignal } from '../lib/wake-signal.ts'
import { isTransient } from '../media/transient-errors.ts'
import { ServerError } from './server-request.ts'

/** Nothing announces that audio is encoded, that a retry is due, or that a worker is gone. */
const pollEveryMs = 1_000
/** A full disk or an unreachable database is not the fault of the video, and usually recovers. */
const transientPauseMs = 10_000
/** With the delays below, a server may be away for 20 minutes. */
const maxAttempts = 8
const firstDelayMs = 10_000
const maxDelayMs = 600_000

/** The work on rows that a process claims one by one. */
export type LeasedWork = {
  name: string
  concurrency: number
  claim(owner: string): Promise<Lease | undefined>
  renew(lease: Lease): Promise<boolean>
  release(lease: Lease, options: { afterMs: number; isFailure: boolean }): Promise<void>
  /** The number of failed attempts. */
  attemptsOf(lease: Lease): Promise<number>
  /** Ends with the row in its next state and without the lease. */
  run(lease: Lease, signal: AbortSignal): Promise<void>
  /** Records a failure that is not retried. `reason` is shown to the owner of the video. */
  fail(lease: Lease, reason: string): Promise<void>
}

export type WorkLoop = { wake(): void; close(): Promise<void> }

export function startWorkLoop(work: LeasedWork, log: Log): WorkLoop {
  const closing = new AbortController()
  const wakeSignal = createWakeSignal()

  async function runSlot(): Promise<void> {
    while (!closing.signal.aborted) {
      const wait = wakeSignal.listen()
      const lease = await work.claim(randomUUID()).catch((err) => {
        log.warn({ err, work: work.name }, 'no work could be claimed, trying again')
        return undefined
      })
      if (lease) await runLeased(work, lease, closing.signal, log)
      else await wait(pollEveryMs)
    }
  }

  const slots = Array.from({ length: work.concurrency }, runSlot)
  return {
    wake: wakeSignal.wake,
    async close() {
      closing.abort()
      wakeSignal.wake()
      await Promise.all(slots)
    },
  }
}

/** Never throws. */
async function runLeased(work: LeasedWork, lease: Lease, closing: AbortSignal, log: Log): Promise<void> {
  const details = { work: work.name, id: lease.id }
  using kept = keepLease(() => work.renew(lease), leaseMs)
  try {
    // A row that makes every worker stop would otherwise be retried forever.
    if ((await work.attemptsOf(lease)) >= maxAttempts)
      return await work.fail(lease, 'Every worker that tried it stopped in the middle of it.')
    await work.run(lease, AbortSignal.any([kept.lost, closing]))
  } catch (err) {
    if (kept.lost.aborted) return
    await endAttempt(work, lease, { err, isClosing: closing.aborted, log }).catch((error) => {
      log.warn({ err: error, ...details }, 'work could not be released, its lease will expire')
    })
  }
}

async function endAttempt(
  work: LeasedWork,
  lease: Lease,
  { err, isClosing, log }: { err: unknown; isClosing: boolean; log: Log },
): Promise<void> {
  const details = { err, work: work.name, id: lease.id }
  // The row was deleted, or its work was cancelled.
  if (!(await work.renew(lease))) return
  if (isClosing) return work.release(lease, { afterMs: 0, isFailure: false })
  if (isTransient(err)) {
    log.warn(details, 'work cannot be done at the moment and is retried')
    return work.release(lease, { afterMs: transientPauseMs, isFailure: false })
  }
  const attempts = (await work.attemptsOf(lease)) + 1
  const isFinal =
    attempts >= maxAttempts || err instanceof ApiError || (err instanceof ServerError && !err.isRetryable)
  log.warn(details, isFinal ? 'work failed' : 'work failed and is retried')
  if (isFinal) return work.fail(lease, reasonOf(err))
  await work.release(lease, { afterMs: delayAfter(attempts, err), isFailure: true })
}

/** Errors of servers and of the API have messages for owners. The log has the details of all others. */
const reasonOf = (error: unknown) =>
  error instanceof ServerError || error instanceof ApiError
    ? error.message
    : 'An internal error occurred repeatedly.'

export function delayAfter(attempts: number, error: unknown): number {
  const wantedMs = error instanceof ServerError ? (error.retryAfterMs ?? 0) : 0
  return Math.max(wantedMs, Math.min(maxDelayMs, firstDelayMs * 2 ** (attempts - 1)))
}
