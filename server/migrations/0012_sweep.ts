import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // How far the sweep of the file store has come, and the id by which the store is known to belong to this database.
  await sql`create table sweep_state (name text primary key, value jsonb not null)`.execute(db)
}
