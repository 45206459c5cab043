import type { Context } from '../contracts/context.ts'
import { isId } from '../lib/ids.ts'
import type { Sweep } from './findings.ts'
import * as store from './store.ts'

type Deps = Pick<Context, 'db' | 'files' | 'now'>

/** Removes the files of videos that do not exist, among the next names in the store. The last name, and how many. */
export async function removeDeletedVideos(
  deps: Deps,
  sweep: Sweep,
  after: string,
  limit: number,
): Promise<{ after: string; count: number }> {
  const names = await deps.files.listNames('videos', after, limit)
  const ids = names.filter((name) => isId('vi', name))
  const existing = await store.filterExisting(deps.db, ids)
  for (const id of ids) if (!existing.has(id)) await removeVideo(deps, sweep, `videos/${id}`)
  return { after: names.at(-1) ?? '', count: names.length }
}

async function removeVideo({ files, now }: Deps, sweep: Sweep, key: string): Promise<void> {
  let [count, bytes, newestMs] = [0, 0, 0]
  for await (const file of files.list(key)) {
    const found = await files.stat(file)
    count++
    bytes += found?.size ?? 0
    newestMs = Math.max(newestMs, found?.modified.getTime() ?? 0)
  }
  if (now().getTime() - newestMs < sweep.graceMs) return
  if (sweep.removes) await files.remove(key)
  // On disk, there may be empty folders alone.
  if (count > 0) sweep.report({ kind: 'orphans', key, files: count, bytes, isRemoved: sweep.removes })
}
