import type { Context } from '../context.ts'
import { isUnreachable } from '../lib/database/errors.ts'
import { ApiError, httpErrors, notFound } from '../lib/errors.ts'
import { createMediaLookup, mergeMetadata } from './media.ts'
import type { MediaReport } from './report.ts'
import { dayOf } from './session-id.ts'
import { isDeadlock, isPartitionMissing, makePartitions } from './session-store.ts'
import { type PendingReport, writeReports } from './write-reports.ts'

/** At some thousand reports a second this is a few seconds' worth. Clients do not wait longer. */
const maxPending = 10_000
/** Less than `maxPending` reports of the maximum size, which would be ten times as much memory. */
const maxPendingBytes = 64 * 1_024 * 1_024
/** Limits of one transaction. */
const maxBatchReports = 500
const maxBatchEvents = 5_000
const maxAttempts = 4

type QueuedReport = PendingReport & {
  resolve(sessionId: string): void
  reject(error: unknown): void
}

export type SessionWriter = { submit(report: MediaReport): Promise<string> }

type Deps = Pick<Context, 'db' | 'secret' | 'log' | 'now'>

/**
 * Writes reports to sessions, and returns the session id once a report is committed. Reports that arrive while a
 * transaction is running go into the next one together, so that the number of commits adapts to the speed of the disk.
 */
export function createSessionWriter(deps: Deps): SessionWriter {
  const { db, now } = deps
  const findMedia = createMediaLookup(db, () => now().getTime())
  const enqueue = createReportQueue((batch) => writeBatch(deps, batch))
  const pending = { reports: 0, bytes: 0 }

  async function write(report: MediaReport): Promise<string> {
    const receivedAt = now().getTime()
    const media = await findMedia(report.mediaId)
    if (!media) throw notFound(report.mediaField)
    // Replaced in place to free memory: the caller still references the report while it is queued.
    report.metadata = mergeMetadata({}, report.metadata, media)
    return new Promise((resolve, reject) => enqueue({ report, media, receivedAt, resolve, reject }))
  }

  return {
    async submit(report) {
      const { bytes } = report
      if (pending.reports >= maxPending || pending.bytes + bytes > maxPendingBytes)
        throw new ApiError(httpErrors.serviceUnavailable, {
          title: 'Too many reports are waiting to be written. Try again later.',
          headers: { 'retry-after': '5' },
        })
      pending.reports += 1
      pending.bytes += bytes
      try {
        return await write(report)
      } finally {
        pending.reports -= 1
        pending.bytes -= bytes
      }
    },
  }
}

/** Passes queued reports to `write` in batches, one batch at a time. */
function createReportQueue(write: (batch: QueuedReport[]) => Promise<void>) {
  let queue: QueuedReport[] = []
  let isWriting = false

  async function drain(): Promise<void> {
    while (queue.length > 0) {
      const batch = nextBatch(queue)
      queue = queue.slice(batch.length)
      await write(batch)
    }
    isWriting = false
  }

  return function enqueue(report: QueuedReport): void {
    queue.push(report)
    if (isWriting) return
    isWriting = true
    // Not at once, so that reports of the same event loop iteration share a batch.
    setImmediate(() => drain())
  }
}

function nextBatch(queue: QueuedReport[]): QueuedReport[] {
  let events = 0
  let size = 0
  for (const { report } of queue) {
    events += report.events.length
    if (size > 0 && (size === maxBatchReports || events > maxBatchEvents)) break
    size++
  }
  return queue.slice(0, size)
}

/** Never throws: each report is resolved or rejected. */
async function writeBatch(deps: Deps, batch: QueuedReport[]): Promise<void> {
  try {
    await writeWithRetries(deps, batch)
  } catch (error) {
    // A report that cannot be written must not make the others fail.
    if (batch.length > 1 && !isUnreachable(error)) {
      deps.log.warn(
        { err: error, reports: batch.length },
        'writing a batch of reports failed, writing each alone',
      )
      for (const report of batch) await writeBatch(deps, [report])
    } else {
      for (const { reject } of batch) reject(error)
    }
  }
}

/** Retries after a missing partition was created, and after another process created the same session concurrently. */
async function writeWithRetries({ db, secret }: Deps, batch: QueuedReport[]): Promise<void> {
  let left = batch
  for (let attempt = 1; left.length > 0; attempt++) {
    try {
      const { written, conflicting, deleted } = await db
        .transaction()
        .execute((trx) => writeReports(trx, left, secret))
      for (const { pending, sessionId } of written) pending.resolve(sessionId)
      for (const { report, reject } of deleted) reject(notFound(report.mediaField))
      left = conflicting
      if (left.length > 0 && attempt === maxAttempts)
        throw new Error('other processes kept creating the same sessions')
    } catch (error) {
      const isMissing = isPartitionMissing(error)
      if (attempt === maxAttempts || !(isMissing || isDeadlock(error))) throw error
      if (isMissing) {
        const days = left.flatMap(({ receivedAt }) => [-1, 0, 1].map((by) => dayOf(receivedAt) + by))
        await makePartitions(db, days)
      }
    }
  }
}
