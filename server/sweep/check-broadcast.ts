import type { Context } from '../context.ts'
import { listSegmentKeys } from '../live/state/expiry/store.ts'
import { broadcastFolder, isLiveSegmentKey, liveSegmentKey } from '../live/state/files.ts'
import type { Sweep } from './findings.ts'

type Deps = Pick<Context, 'db' | 'files' | 'now'>

/**
 * Removes live segments that no row refers to. They remain when a process is killed between storing and recording a
 * segment, or when it stores one after another process has taken over. Returns the number of files.
 */
export async function checkBroadcast({ db, files, now }: Deps, sweep: Sweep, id: string): Promise<number> {
  const found = new Set<string>()
  for await (const key of files.list(broadcastFolder(id))) found.add(key)
  // The rows are read after the files are listed. The grace period is for rows that are about to be inserted.
  const known = new Set((await listSegmentKeys(db, id)).map((row) => liveSegmentKey(id, row)))
  for (const key of found) {
    if (known.has(key) || !isLiveSegmentKey(key)) continue
    const file = await files.stat(key)
    if (!file || now().getTime() - file.modified.getTime() < sweep.graceMs) continue
    if (sweep.removes) await files.remove(key)
    sweep.report({ kind: 'orphans', key, files: 1, bytes: file.size, isRemoved: sweep.removes })
  }
  return found.size
}
