import type { Context } from '../context.ts'
import { FileNotFoundError, FileStoreError } from '../lib/files/files.ts'

type Deps = Pick<Context, 'db' | 'files'>

/** A file in the store with an id that is also in its database. The first sweep writes both. */
export const storeIdKey = 'kinora-store-id'

export const readStoreId = (deps: Pick<Deps, 'files'>) => readSmallFile(deps, storeIdKey)

/** Its first 100 bytes. Undefined if there is no such file. */
export async function readSmallFile(
  { files }: Pick<Deps, 'files'>,
  key: string,
): Promise<string | undefined> {
  try {
    const chunks: Buffer[] = []
    for await (const chunk of await files.read(key, { from: 0, to: 99 })) chunks.push(chunk)
    return Buffer.concat(chunks).toString('utf8').trim()
  } catch (error) {
    if (error instanceof FileNotFoundError) return undefined
    throw error
  }
}

async function findStoreId({ db }: Pick<Deps, 'db'>): Promise<string | undefined> {
  const row = await db
    .selectFrom('sweep_state')
    .select('value')
    .where('name', '=', 'store')
    .executeTakeFirst()
  return row?.value.id
}

/**
 * Rejects if the file store is not the one of this database. In the empty folder of a disk that is not mounted, or in a
 * wrong bucket, every file seems to be missing.
 */
export async function checkStore(deps: Deps): Promise<void> {
  const id = await findStoreId(deps)
  if (id === undefined) return deps.files.check()
  const found = await readStoreId(deps)
  if (found === id) return
  const problem = found === undefined ? 'is missing' : `is "${found}" instead of "${id}"`
  throw new FileStoreError('unreachable', new Error(`its file ${storeIdKey} ${problem}`))
}

/**
 * The reason why a job has failed. If a file is missing because the entire store is, that is an error of the store, which
 * is retried. A missing file of a store that is there is final.
 */
export async function explainMissing(deps: Deps, error: unknown): Promise<unknown> {
  const isMissing = [error, (error as Error).cause].some((each) => each instanceof FileNotFoundError)
  if (!isMissing) return error
  return checkStore(deps).then(
    () => error,
    (problem) => problem,
  )
}

/** The id of the store that belongs to this database. The first of several concurrent processes creates it. */
export async function provideStoreId(db: Context['db'], id: string): Promise<string> {
  await db
    .insertInto('sweep_state')
    .values({ name: 'store', value: JSON.stringify({ id }) })
    .onConflict((c) => c.doNothing())
    .execute()
  return (await findStoreId({ db })) ?? id
}
