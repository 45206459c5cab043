import { randomUUID } from 'node:crypto'
import type { Context } from '../context.ts'
import { isId } from '../lib/ids.ts'
import { hasStoredSource } from '../uploads/source/store.ts'
import { videosFolder } from '../videos/files.ts'
import { provideStoreId, readStoreId, storeIdKey } from '../videos/store-identity.ts'
import * as store from './store.ts'

/** The number of videos that identify a store without an id. */
const sampleSize = 100

/**
 * The reason why nothing may be removed from the store. Undefined if the store belongs to this database. With a new or a
 * wrong database, every file would be an orphan.
 */
export async function findForeignStore({
  db,
  files,
}: Pick<Context, 'db' | 'files'>): Promise<string | undefined> {
  const id = await provideStoreId(db, randomUUID())
  const found = await readStoreId({ files })
  if (found === id) return undefined
  if (found !== undefined)
    return `it belongs to another database: its file ${storeIdKey} is "${found}", this database has "${id}"`
  const remedy = `if it is the right one, put a file ${storeIdKey} with the content "${id}" into the store`
  const names = await files.listNames(videosFolder, '', sampleSize)
  const ids = names.filter((name) => isId('vi', name))
  if (ids.length > 0 && (await store.filterExisting(db, ids)).size === 0)
    return `this database knows none of its videos: ${remedy}`
  // The id would make the folder of a disk that is not mounted the right store.
  if (ids.length === 0 && (await hasStoredSource(db)))
    return `it contains none of the videos of this database: ${remedy}`
  await files.put(storeIdKey, Buffer.from(id))
  return undefined
}
