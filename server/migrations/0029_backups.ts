import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // The runs of `kinora backup`. A run without `finished_at` is in progress or was killed.
  await sql`
    create table backups (
      id text primary key,
      destination text not null,
      started_at timestamptz not null,
      finished_at timestamptz,
      files bigint,
      bytes bigint,
      copied_files bigint,
      copied_bytes bigint,
      error text
    )`.execute(db)
  await sql`create index backups_started_at on backups (started_at)`.execute(db)
}
