import { CachedQuery } from '../lib/cached-query.ts'
import type { ConcurrencyLimit } from '../lib/concurrency-limit.ts'
import { ApiError } from '../lib/errors.ts'
import { FetchError } from '../lib/fetch/errors.ts'
import type { Lease } from '../lib/leases.ts'
import { type LeasedWork, startWorkLoop, type WorkLoop } from '../lib/work-loop.ts'
import { createImageLimit } from '../media/image-upload.ts'
import { isTransient } from '../media/transient-errors.ts'
import type { WorkerContext } from '../slice.ts'
import { decryptCredentials } from './credentials.ts'
import { importItem } from './import-item.ts'
import { listNextPage } from './list-page.ts'
import { ItemFailed, ItemSkipped } from './outcomes.ts'
import * as runs from './run-store.ts'
import { maxConcurrency } from './schemas.ts'
import { ServiceClient } from './services/client.ts'
import { NotReady, ServiceBusy, ServiceError } from './services/errors.ts'
import { services } from './services/services.ts'
import * as work from './work-store.ts'

/** With the delays below, a service may be unreachable for half an hour. */
const maxAttempts = 9
const firstDelayMs = 2_000
const maxDelayMs = 600_000
/** For a file that the service prepares. */
const maxPreparationMs = 24 * 3_600_000
const delayAfter = (attempts: number) => Math.min(maxDelayMs, firstDelayMs * 3 ** attempts)

type Deps = WorkerContext & { imageLimit: ConcurrencyLimit }

/** Reads the lists of all runs, and imports what they list. */
export function startImports(base: WorkerContext): WorkLoop {
  const context: Deps = { ...base, imageLimit: createImageLimit() }
  // Without a run there is nothing else to look for, and most of the time there is none.
  const isBusy = new CachedQuery(() => runs.hasRunning(context.db), 1_000)
  const loops = [
    startWorkLoop(listWork(context, isBusy), base.log),
    startWorkLoop(itemWork(context, isBusy), base.log),
  ]
  return {
    wake() {
      for (const loop of loops) loop.wake()
    },
    async close() {
      await Promise.all(loops.map((loop) => loop.close()))
    },
  }
}

function openLibrary({ secret, fetch }: Deps, run: runs.Run, signal: AbortSignal) {
  const client = new ServiceClient(fetch, signal)
  const credentials = run.credentials ? decryptCredentials(secret, run.id, run.credentials) : {}
  const { account, options } = run
  return { client, library: services[run.service].open({ account, options, credentials }, client) }
}

function listWork(context: Deps, isBusy: CachedQuery<boolean>): LeasedWork<Lease> {
  const { db } = context
  return {
    name: 'import list',
    concurrency: 2,
    isTransient,
    detailsOf: ({ id }) => ({ importId: id }),
    claim: async (owner) => ((await isBusy.read()) === false ? undefined : runs.claimList(db, owner)),
    renew: (lease) => runs.renewRun(db, lease),
    release: (lease, afterMs) => runs.releaseRun(db, lease, { afterMs, isFailure: false }),
    async run(lease, signal) {
      const run = await runs.findActiveRun(db, lease.id)
      if (!run) return runs.releaseRun(db, lease, { afterMs: 0, isFailure: false })
      const { library } = openLibrary(context, run, signal)
      await listNextPage(context, lease, run, library)
      await runs.announceImports(db)
    },
    async fail(lease, error) {
      const run = await runs.findActiveRun(db, lease.id)
      if (!run) return
      if (error instanceof ServiceBusy) {
        await runs.delayRun(db, run.id, error.waitMs)
        return runs.releaseRun(db, lease, { afterMs: error.waitMs, isFailure: false })
      }
      const isFinal = (error instanceof ServiceError && !error.isRetryable) || run.attempts + 1 >= maxAttempts
      context.log.warn({ err: error, importId: run.id, isFinal }, 'the list of an import cannot be read')
      if (!isFinal) return runs.releaseRun(db, lease, { afterMs: delayAfter(run.attempts), isFailure: true })
      await db.transaction().execute(async (trx) => {
        await runs.changeState(trx, run.id, ['running'], { state: 'failed', failure: reasonOf(error) })
        await work.skipOpen(trx, run.id, 'The list of the import could not be read.')
      })
    },
  }
}

function itemWork(context: Deps, isBusy: CachedQuery<boolean>): LeasedWork<work.ItemLease> {
  const { db } = context
  return {
    name: 'import',
    concurrency: maxConcurrency,
    isTransient,
    detailsOf: ({ id }) => ({ itemId: id }),
    claim: async (owner) =>
      (await isBusy.read()) === false
        ? undefined
        : db.transaction().execute((trx) => work.claimItem(trx, owner)),
    renew: (lease) => work.renewItem(db, lease),
    release: (lease, afterMs) => work.releaseItem(db, lease, { afterMs, isFailure: false }),
    async run(lease, signal) {
      const { item, run } = lease
      // An object that makes every worker stop would otherwise be retried forever.
      if (item.attempts >= maxAttempts)
        throw new ItemFailed(item.reason ?? 'Every worker that tried it stopped before it had finished.')
      const { client, library } = openLibrary(context, run, signal)
      await importItem({ context, client, library, run, lease, signal }, item)
    },
    fail: (lease, error) => failItem(context, lease, error),
  }
}

async function failItem({ db, log }: Deps, lease: Lease, error: unknown): Promise<void> {
  const item = await work.findLeasedItem(db, lease)
  if (!item) return
  if (error instanceof ServiceBusy) {
    await runs.delayRun(db, item.run_id, error.waitMs)
    return work.releaseItem(db, lease, { afterMs: 0, isFailure: false, reason: 'The service asks to wait.' })
  }
  if (error instanceof NotReady) {
    if ((await work.findPreparationMs(db, item)) < maxPreparationMs)
      return work.releaseItem(db, lease, { afterMs: error.waitMs, isFailure: false, reason: error.message })
    const reason = 'The service has not prepared the file within a day.'
    await work.endItem(db, lease, { state: 'failed', reason })
    return
  }
  if (error instanceof ItemSkipped) {
    await work.endItem(db, lease, { state: 'skipped', reason: error.message })
    return
  }
  const isFinal = isFinalError(error) || item.attempts + 1 >= maxAttempts
  const reason = reasonOf(error)
  const details = { importId: item.run_id, kind: item.kind, sourceId: item.source_id, reason }
  const isExpected = error instanceof ItemFailed || error instanceof ServiceError
  log.info({ ...details, isFinal, ...(!isExpected && { err: error }) }, 'an object cannot be imported')
  if (isFinal) {
    await work.endItem(db, lease, { state: 'failed', reason })
    return
  }
  await work.releaseItem(db, lease, { afterMs: delayAfter(item.attempts), isFailure: true, reason })
}

const isFinalError = (error: unknown) =>
  error instanceof ItemFailed ||
  (error instanceof ServiceError && !error.isRetryable) ||
  (error instanceof ApiError && error.status < 500)

/** Other errors are in the log: their messages are not meant for owners. */
const reasonOf = (error: unknown) =>
  error instanceof ItemFailed ||
  error instanceof ServiceError ||
  error instanceof FetchError ||
  error instanceof ApiError
    ? error.message
    : 'An internal error occurred repeatedly.'
