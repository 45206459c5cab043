import { type Kysely, sql } from 'kysely'
import { commandName } from '../lib/command-name.ts'
import { DatabaseError } from '../lib/database/errors.ts'

/** A table that exists from the beginning of a restore until its rows are committed. */
const table = 'kinora_restore'

export async function hasUnfinishedRestore<T>(db: Kysely<T>): Promise<boolean> {
  const { rows } = await sql<{ isFound: boolean }>`
    select to_regclass(${`public.${table}`}) is not null as "isFound"`.execute(db)
  return rows[0]!.isFound
}

/** The service must not run with a part of the files and no rows. */
export async function checkRestored<T>(db: Kysely<T>): Promise<void> {
  if (await hasUnfinishedRestore(db))
    throw new DatabaseError(
      `The restore of a backup was interrupted: run "${commandName(process.env)} restore" again, or delete the database and the files to start with nothing.`,
    )
}

export async function beginRestore<T>(db: Kysely<T>): Promise<void> {
  await sql`create table if not exists ${sql.table(table)} (started_at timestamptz not null default now())`.execute(
    db,
  )
}

/** A statement for the transaction that loads the rows. */
export const endRestoreStatement = `drop table ${table}`
