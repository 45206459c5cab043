import { type Kysely, sql } from 'kysely'

export const locks = ['import_runs']

export async function up(db: Kysely<unknown>): Promise<void> {
  // For the estimate of the time that an import takes.
  await sql`alter table import_runs add column fetch_speed double precision`.execute(db)
}
