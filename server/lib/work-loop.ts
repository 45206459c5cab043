import { randomUUID } from 'node:crypto'
import { keepLease, leaseMs } from './leases.ts'
import type { Log } from './log.ts'
import { createWakeSignal } from './wake-signal.ts'

/** Nothing announces that a retry is due, or that a worker is gone. */
const pollEveryMs = 1_000
/** A full disk, or a store or database that is unreachable, is not the fault of the work, and usually recovers. */
const transientPauseMs = 10_000

/** Work that processes claim piece by piece. A worker holds a lease on its piece and renews it. */
export type LeasedWork<L> = {
  name: string
  concurrency: number
  claim(owner: string): Promise<L | undefined>
  /** False if the lease was lost: the work was canceled, or another worker has it. */
  renew(lease: L): Promise<boolean>
  /**
   * Ends the lease without counting a failure. The work can be claimed again after `afterMs`. The error is transient.
   */
  release(lease: L, afterMs: number, error?: unknown): Promise<void>
  /** Records the result and ends the lease. */
  run(lease: L, signal: AbortSignal): Promise<void>
  isTransient(error: unknown): boolean
  /** Ends the lease after an error that is not transient, and decides whether the work is retried. */
  fail(lease: L, error: unknown): Promise<void>
  /** For the log. */
  detailsOf(lease: L): object
}

export type WorkLoop = { wake(): void; close(): Promise<void> }

/** Works as long as there is something to claim, and otherwise waits until it is woken. */
export function startWorkLoop<L>(work: LeasedWork<L>, log: Log): WorkLoop {
  const closing = new AbortController()
  const wakeSignal = createWakeSignal()

  async function runSlot(): Promise<void> {
    while (!closing.signal.aborted) {
      const wait = wakeSignal.listen()
      const lease = await work.claim(randomUUID()).catch((err) => {
        log.warn({ err, work: work.name }, 'no work could be claimed, trying again')
        return undefined
      })
      if (lease) await runLeased(work, lease, { closing: closing.signal, log })
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

/** Never throws. Afterwards the work is complete, has failed, or can be claimed again. */
async function runLeased<L>(
  work: LeasedWork<L>,
  lease: L,
  { closing, log }: { closing: AbortSignal; log: Log },
): Promise<void> {
  const details = { work: work.name, ...work.detailsOf(lease) }
  using kept = keepLease(() => work.renew(lease), leaseMs)
  try {
    await work.run(lease, AbortSignal.any([kept.lost, closing]))
  } catch (err) {
    try {
      if (kept.lost.aborted || !(await work.renew(lease))) return
      if (closing.aborted) return await work.release(lease, 0)
      if (!work.isTransient(err)) return await work.fail(lease, err)
      log.warn({ err, ...details }, 'work cannot be done at the moment and is retried')
      await work.release(lease, transientPauseMs, err)
    } catch (error) {
      log.warn({ err: error, ...details }, 'work could not be released, its lease will expire')
    }
  }
}
