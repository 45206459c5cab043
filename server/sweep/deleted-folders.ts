import type { Context } from '../context.ts'
import { isId } from '../lib/ids.ts'
import type { Sweep } from './findings.ts'

type Deps = Pick<Context, 'db' | 'files' | 'now'>

/** The number of names that are compared with the database in one query. */
const maxNames = 1_000
/** A step ends early after this number of files, because each one costs two requests on S3. */
const maxFiles = 2_000

/** A folder of the store with one subfolder for each object. The name of the subfolder is the id of the object. */
export type ObjectsFolder = {
  folder: string
  idPrefix: string
  filterExisting(db: Context['db'], ids: string[]): Promise<Set<string>>
}

/** Removes the files of objects that no longer exist, among the next names in the folder. Undefined after the last name. */
export async function removeDeletedFolders(
  deps: Deps,
  sweep: Sweep,
  { folder, idPrefix, filterExisting }: ObjectsFolder,
  after: string,
): Promise<{ after: string; cost: number } | undefined> {
  const names = await deps.files.listNames(folder, after, maxNames)
  const ids = names.filter((name) => isId(idPrefix, name))
  const existing = await filterExisting(deps.db, ids)
  let removed = 0
  for (const id of ids) {
    sweep.signal?.throwIfAborted()
    if (existing.has(id)) continue
    removed += await removeFolder(deps, sweep, `${folder}/${id}`)
    if (removed >= maxFiles) return { after: id, cost: removed }
  }
  return names.length < maxNames ? undefined : { after: names.at(-1)!, cost: names.length + removed }
}

/** Returns the number of files. */
async function removeFolder({ files, now }: Deps, sweep: Sweep, key: string): Promise<number> {
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
