import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '../context.ts'
import { findOwner } from '../lib/owner.ts'
import { liveFolder } from '../live/state/files.ts'
import type { SourceState } from '../uploads/tables.ts'
import { videosFolder } from '../videos/files.ts'
import { watermarksFolder } from '../watermarks/files.ts'
import type { Sweep } from './findings.ts'
import * as store from './store.ts'

type Deps = Pick<Context, 'db' | 'files' | 'now'>
type Upload = { handle: string; modified: Date }

const batchSize = 500

/** Processes on other hosts cannot be looked up. No active client pauses for this long. */
const unknownOwnerMs = 24 * 3_600_000

/** The database may still commit a transaction of a process that was killed. */
const commitMs = 10_000

/** Removes uploads that neither a row nor a running process refers to, and aborts such multipart uploads. */
export async function removeUnfinished(deps: Deps, sweep: Sweep): Promise<void> {
  let batch: Upload[] = []
  const recent: Upload[] = []
  for await (const upload of deps.files.listUploads()) {
    batch.push(upload)
    if (batch.length < batchSize) continue
    recent.push(...(await removeUploads(deps, sweep, batch)))
    batch = []
  }
  recent.push(...(await removeUploads(deps, sweep, batch)))
  // This is usually the first run after a kill, so uploads of a process that was just killed are removed now.
  if (recent.length > 0) {
    await delay(commitMs, undefined, sweep.signal && { signal: sweep.signal })
    await removeUploads(deps, sweep, recent)
  }
  await removeSpooled(deps, sweep)
  if (!sweep.removes) return
  const folders = [`${videosFolder}/`, `${watermarksFolder}/`, `${liveFolder}/`, 'spool/']
  for (const key of await deps.files.abortOrphanedUploads(folders, deps.now()))
    sweep.report({ kind: 'multipart upload', key, isRemoved: true })
}

/** Returns uploads of dead processes that are too recent to remove. */
async function removeUploads(deps: Deps, sweep: Sweep, uploads: Upload[]): Promise<Upload[]> {
  const owners = await Promise.all(uploads.map(({ handle }) => findOwner(handle)))
  // The rows are read after the owners: a process may have recorded an upload and exited meanwhile.
  const states = await store.findSourceStates(
    deps.db,
    uploads.map(({ handle }) => handle),
  )
  const recent: Upload[] = []
  for (const [i, { handle, modified }] of uploads.entries()) {
    sweep.signal?.throwIfAborted()
    const afterMs = removableAfterMs(states.get(handle), owners[i]!, sweep)
    const isOld = deps.now().getTime() - modified.getTime() >= afterMs
    if (!isOld && afterMs === commitMs) recent.push({ handle, modified })
    if (!isOld) continue
    if (sweep.removes) await deps.files.abandonUpload(handle)
    sweep.report({ kind: 'upload', key: handle, isRemoved: sweep.removes })
  }
  return recent
}

function removableAfterMs(
  state: SourceState | undefined,
  owner: Awaited<ReturnType<typeof findOwner>>,
  { graceMs }: Sweep,
): number {
  if (state === 'receiving' || state === 'received') return Number.POSITIVE_INFINITY
  // The parts of a source that is stored or has failed are never read again.
  if (state) return graceMs
  return { alive: Number.POSITIVE_INFINITY, dead: commitMs, unknown: unknownOwnerMs }[owner]
}

/** Removes parts that were being received. Only the request that spooled them refers to them. */
async function removeSpooled({ files, now }: Deps, sweep: Sweep): Promise<void> {
  for await (const key of files.list('spool')) {
    const owner = await findOwner(key.slice('spool/'.length))
    if (owner === 'alive') continue
    const found = await files.stat(key)
    if (!found) continue
    if (owner === 'unknown' && now().getTime() - found.modified.getTime() < unknownOwnerMs) continue
    if (sweep.removes) await files.remove(key)
    sweep.report({ kind: 'orphans', key, files: 1, bytes: found.size, isRemoved: sweep.removes })
  }
}
