import type { Context } from '../context.ts'
import { isId } from '../lib/ids.ts'
import { videoFolder, videosFolder } from '../renditions/files.ts'
import type { Sweep } from './findings.ts'
import * as store from './store.ts'

type Deps = Pick<Context, 'db' | 'files' | 'now'>

/** The number of names that are compared with the database in one query. */
const maxNames = 1_000
/** A step ends early after this number of files, because each one costs two requests on S3. */
const maxFiles = 2_000

/** Removes the files of videos that no longer exist, among the next names in the store. Undefined after the last name. */
export async function removeDeletedVideos(
  deps: Deps,
  sweep: Sweep,
  after: string,
): Promise<{ after: string; cost: number } | undefined> {
  const names = await deps.files.listNames(videosFolder, after, maxNames)
  const ids = names.filter((name) => isId('vi', name))
  const existing = await store.filterExisting(deps.db, ids)
  let removed = 0
  for (const id of ids) {
    sweep.signal?.throwIfAborted()
    if (existing.has(id)) continue
    removed += await removeVideo(deps, sweep, videoFolder(id))
    if (removed >= maxFiles) return { after: id, cost: removed }
  }
  return names.length < maxNames ? undefined : { after: names.at(-1)!, cost: names.length + removed }
}

/** Returns the number of files. */
async function removeVideo({ files, now }: Deps, sweep: Sweep, key: string): Promise<number> {
  let [count, bytes, newestMs] = [0, 0, 0]
  for await (const file of files.list(key)) {
    const found = await files.stat(file)
    count++
    bytes += found?.size ?? 0
    newestMs = Math.max(newestMs, found?.modified.getTime() ?? 0)
  }
  if (now().getTime() - newestMs < sweep.graceMs) return count
  if (sweep.removes) await files.remove(key)
  // On disk, there may be only empty folders.
  if (count > 0) sweep.report({ kind: 'orphans', key, files: count, bytes, isRemoved: sweep.removes })
  return count
}
