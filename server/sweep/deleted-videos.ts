import type { Context } from '../context.ts'
import { isId } from '../lib/ids.ts'
import type { Sweep } from './findings.ts'
import * as store from './store.ts'

type Deps = Pick<Context, 'db' | 'files' | 'now'>

/** So many names are compared at once. */
const maxNames = 1_000
/** A step ends early after so many files, each of which costs two requests on S3. */
const maxFiles = 2_000

/** Removes the files of videos that do not exist, among the next names in the store. Undefined after the last name. */
export async function removeDeletedVideos(
  deps: Deps,
  sweep: Sweep,
  after: string,
): Promise<{ after: string; cost: number } | undefined> {
  const names = await deps.files.listNames('videos', after, maxNames)
  const ids = names.filter((name) => isId('vi', name))
  const existing = await store.filterExisting(deps.db, ids)
  let removed = 0
  for (const id of ids) {
    sweep.signal?.throwIfAborted()
    if (existing.has(id)) continue
    removed += await removeVideo(deps, sweep, `videos/${id}`)
    if (removed >= maxFiles) return { after: id, cost: removed }
  }
  return names.length < maxNames ? undefined : { after: names.at(-1)!, cost: names.length + removed }
}

/** How many files it had. */
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
  // On disk, there may be empty folders alone.
  if (count > 0) sweep.report({ kind: 'orphans', key, files: count, bytes, isRemoved: sweep.removes })
  return count
}
