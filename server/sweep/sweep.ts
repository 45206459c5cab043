import { areRemovalsHeld } from '../backups/hold.ts'
import type { Context } from '../context.ts'
import { exclusively } from '../lib/db.ts'
import * as broadcasts from '../live/state/expiry/store.ts'
import { liveFolder } from '../live/state/files.ts'
import { broadcastPrefix } from '../live/state/store.ts'
import { videosFolder } from '../videos/files.ts'
import {
  isStoreNewer,
  newerStoreWarning,
  readGenerations,
  writeDatabaseGeneration,
  writeStoreGeneration,
} from '../videos/store-generation.ts'
import { idPrefix, watermarksFolder } from '../watermarks/files.ts'
import * as watermarks from '../watermarks/store.ts'
import { checkBroadcast } from './check-broadcast.ts'
import { checkVideo } from './check-video.ts'
import { removeDeletedFolders } from './deleted-folders.ts'
import { countFindings, type Finding, type Sweep } from './findings.ts'
import { sweepMetrics } from './metrics.ts'
import { findForeignStore } from './ownership.ts'
import * as store from './store.ts'
import { removeUnfinished } from './unfinished.ts'

type Deps = Pick<Context, 'config' | 'db' | 'locks' | 'files' | 'now' | 'log'>

export const sweepEveryMs = 600_000

/**
 * Each phase goes through the store in order, a part in each run, and starts over after `passEveryMs`. `maxCost` limits a
 * run. A name costs 1. A video that is compared or removed costs 1 per file, and comparing costs another 40 for its
 * request and its statement.
 */
type Phase = {
  name: string
  passEveryMs: number
  maxCost: number
  /** Continues after this name or id. Returns undefined at the end of the pass. */
  step(deps: Deps, sweep: Sweep, after: string): Promise<{ after: string; cost: number } | undefined>
}

const videosPerStep = 20
const broadcastsPerStep = 20
const videoCost = 40

const videoFolders = { folder: videosFolder, idPrefix: 'vi', filterExisting: store.filterExisting }
const broadcastFolders = {
  folder: liveFolder,
  idPrefix: broadcastPrefix,
  filterExisting: broadcasts.filterExisting,
}
const watermarkFolders = { folder: watermarksFolder, idPrefix, filterExisting: watermarks.filterExisting }

const phases: Phase[] = [
  {
    name: 'deleted videos',
    passEveryMs: 3_600_000,
    maxCost: 20_000,
    step: (deps, sweep, after) => removeDeletedFolders(deps, sweep, videoFolders, after),
  },
  {
    name: 'deleted watermarks',
    passEveryMs: 3_600_000,
    maxCost: 20_000,
    step: (deps, sweep, after) => removeDeletedFolders(deps, sweep, watermarkFolders, after),
  },
  {
    name: 'deleted broadcasts',
    passEveryMs: 3_600_000,
    maxCost: 20_000,
    step: (deps, sweep, after) => removeDeletedFolders(deps, sweep, broadcastFolders, after),
  },
  {
    name: 'broadcasts',
    passEveryMs: 24 * 3_600_000,
    maxCost: 20_000,
    async step(deps, sweep, after) {
      const names = await deps.files.listNames(liveFolder, after, broadcastsPerStep)
      const ids = await broadcasts.filterExisting(deps.db, names)
      let cost = names.length
      for (const id of ids) {
        sweep.signal?.throwIfAborted()
        cost += await checkBroadcast(deps, sweep, id)
      }
      return names.length < broadcastsPerStep ? undefined : { after: names.at(-1)!, cost }
    },
  },
  {
    name: 'videos',
    passEveryMs: 24 * 3_600_000,
    maxCost: 20_000,
    async step(deps, sweep, after) {
      const ids = await store.listVideoIds(deps.db, after, videosPerStep)
      let cost = 0
      for (const id of ids) {
        sweep.signal?.throwIfAborted()
        cost += videoCost + (await checkVideo(deps, sweep, id))
      }
      return ids.length < videosPerStep ? undefined : { after: ids.at(-1)!, cost }
    },
  },
]

/** Continues each phase where the last run stopped. */
async function continuePhases(deps: Deps, sweep: Sweep): Promise<void> {
  for (const { name, passEveryMs, maxCost, step } of phases) {
    const state = await store.readState(deps.db, name)
    let after = state?.after ?? ''
    let startedAt = new Date(state?.startedAt ?? 0)
    if (after === '') {
      if (deps.now().getTime() - startedAt.getTime() < passEveryMs) continue
      startedAt = deps.now()
    }
    try {
      for (let cost = 0; cost < maxCost; ) {
        const next = await step(deps, sweep, after)
        after = next?.after ?? ''
        if (!next) break
        cost += next.cost
      }
    } finally {
      await store.writeState(deps.db, name, { after, startedAt: startedAt.toISOString() })
    }
  }
}

/** One limited run. A worker calls this periodically. Only one of several workers runs it in each interval. */
export async function runSweep(deps: Deps & Pick<Context, 'metrics'>, signal: AbortSignal): Promise<void> {
  const { config, db, locks, log, metrics, now } = deps
  const { mode, graceMs } = config.sweep
  if (mode === 'off') return
  // A backup copies files. The next run sweeps.
  if (await areRemovalsHeld(db)) return
  const reason = await findForeignStore(deps)
  if (reason) return log.error(`the sweep does not touch the file store: ${reason}`)
  const findings = countFindings()
  const report = (finding: Finding) => {
    findings.report(finding)
    if (finding.kind === 'missing')
      log.warn({ ...finding, keys: finding.keys.slice(0, 5) }, 'files of a video are missing from the store')
  }
  const isNewer = await isStoreNewer(deps)
  if (isNewer) log.warn(`${newerStoreWarning} (docs/backups.md)`)
  const sweep: Sweep = { removes: mode === 'remove' && !isNewer, graceMs, report, signal }
  await removeUnfinished(deps, sweep)
  await exclusively(locks, 'sweep', async () => {
    // Also by the first run after a start, so that a backup from just before an upgrade is older.
    await advanceGeneration(deps)
    const last = await store.readState(db, 'run')
    if (now().getTime() - Date.parse(last?.at ?? '1970-01-01') < sweepEveryMs / 2) return
    await store.writeState(db, 'run', { at: now().toISOString() })
    await continuePhases(deps, sweep)
  })
  const { missing, ...found } = findings.counts
  metrics.count(sweepMetrics.missing, {}, missing)
  if (sweep.removes)
    for (const [name, count] of entriesOf(found)) metrics.count(sweepMetrics[name], {}, count)
  if (Object.values(found).every((count) => count === 0)) return
  const message = sweep.removes ? 'the sweep removed orphaned files' : 'the sweep found orphaned files'
  log.info({ ...found, keys: findings.keys }, message)
}

const entriesOf = <T extends object>(counts: T) => Object.entries(counts) as [keyof T, number][]

/**
 * In the database first: killed in between, the store has the lower number. If the database is older, only the number of
 * the store grows, so that the newer database, once it is back, is the older one: this one has stored files meanwhile.
 */
async function advanceGeneration(deps: Deps): Promise<void> {
  const { database, store } = await readGenerations(deps)
  const next = Math.max(database, store) + 1
  if (store <= database) await writeDatabaseGeneration(deps, next)
  await writeStoreGeneration(deps, next)
}

/** Accepts that files which an older database does not know are orphans. */
export async function acceptOlderDatabase(deps: Deps): Promise<void> {
  const { store } = await readGenerations(deps)
  await writeDatabaseGeneration(deps, store)
}

/** Sweeps the entire store. Returns a reason if the store belongs to another database. */
export async function sweepAll(deps: Deps, sweep: Sweep): Promise<string | undefined> {
  const reason = await findForeignStore(deps)
  if (reason) return reason
  await removeUnfinished(deps, sweep)
  for (const { step } of phases) {
    let after: string | undefined = ''
    while (after !== undefined) after = (await step(deps, sweep, after))?.after
  }
  return undefined
}
