import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table watermarks (
      id text primary key,
      environment text not null check (environment in ('production', 'sandbox')),
      width integer not null,
      height integer not null,
      created_at timestamptz not null
    )`.execute(db)
  await sql`create index watermarks_created on watermarks (environment, created_at, id)`.execute(db)
  // The settings of the video's watermark. The video has its own copy of the image.
  await sql`alter table videos add column watermark jsonb`.execute(db)
}
