import { type Kysely, sql } from 'kysely'

/**
 * The versions of Kinora that changed the schema, each with its last migration. A program that finds unknown migrations
 * names the version that it needs.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table schema_versions (
      migration text primary key,
      version text not null,
      migrated_at timestamptz not null default now()
    )`.execute(db)
}
