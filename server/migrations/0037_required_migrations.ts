import { type Kysely, sql } from 'kysely'

/** The migration that a program has to know to use this schema. Null: all of them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table schema_versions add column requires text`.execute(db)
}
