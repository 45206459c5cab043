import { sql } from 'kysely'
import type { Context } from '../context.ts'
import { readSmallFile } from './store-identity.ts'

type Deps = Pick<Context, 'db' | 'files'>

/**
 * A number that each run of the sweep increases, in the database first and then in this file. If the number in the store
 * is higher, the database was restored and is older than the store.
 */
const storeGenerationKey = 'kinora-store-generation'

const stateName = 'store generation'

export type Generations = { database: number; store: number }

export async function readGenerations({ db, files }: Deps): Promise<Generations> {
  const row = await db
    .selectFrom('sweep_state')
    .select('value')
    .where('name', '=', stateName)
    .executeTakeFirst()
  const stored = await readSmallFile({ files }, storeGenerationKey)
  return { database: Number(row?.value.number ?? 0), store: Number.parseInt(stored ?? '0', 10) || 0 }
}

/**
 * Whether the store has files that this database does not know, because an older backup of the database was restored. They
 * would seem to be orphans.
 */
export async function isStoreNewer(deps: Deps): Promise<boolean> {
  const { database, store } = await readGenerations(deps)
  return store > database
}

/** For the log, the doctor and the System page. */
export const newerStoreWarning =
  'the database is older than the file store, so the sweep removes nothing: files of newer videos would be lost'

/** Never lowers the number. */
export async function writeDatabaseGeneration({ db }: Pick<Deps, 'db'>, number: number): Promise<void> {
  const value = JSON.stringify({ number: String(number) })
  await db
    .insertInto('sweep_state')
    .values({ name: stateName, value })
    .onConflict((c) =>
      c
        .column('name')
        .doUpdateSet({ value })
        .where(sql<boolean>`(sweep_state.value ->> 'number')::bigint < ${number}`),
    )
    .execute()
}

export async function writeStoreGeneration({ files }: Pick<Deps, 'files'>, number: number): Promise<void> {
  await files.put(storeGenerationKey, Buffer.from(String(number)))
}
