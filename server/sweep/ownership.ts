import { randomUUID } from 'node:crypto'
import type { Context } from '../context.ts'
import { FileNotFoundError } from '../lib/files/files.ts'
import { isId } from '../lib/ids.ts'
import { videosFolder } from '../renditions/files.ts'
import * as store from './store.ts'

/** A file in the store with an id that is also in its database. */
export const storeIdKey = 'kinora-store-id'

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
  const id = await store.provideStoreId(db, randomUUID())
  const found = await readId(files)
  if (found === id) return undefined
  if (found !== undefined)
    return `it belongs to another database: its file ${storeIdKey} is "${found}", this database has "${id}"`
  const names = await files.listNames(videosFolder, '', sampleSize)
  const ids = names.filter((name) => isId('vi', name))
  if (ids.length > 0 && (await store.filterExisting(db, ids)).size === 0)
    return `this database knows none of its videos: if it is the right one, put a file ${storeIdKey} with the content "${id}" into the store`
  await files.put(storeIdKey, Buffer.from(id))
  return undefined
}

async function readId(files: Context['files']): Promise<string | undefined> {
  try {
    const chunks: Buffer[] = []
    for await (const chunk of await files.read(storeIdKey, { from: 0, to: 99 })) chunks.push(chunk)
    return Buffer.concat(chunks).toString('utf8').trim()
  } catch (error) {
    if (error instanceof FileNotFoundError) return undefined
    throw error
  }
}
