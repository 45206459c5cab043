import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table summaries (
      id text primary key,
      environment text not null check (environment in ('production', 'sandbox')),
      video_id text not null unique references all_videos (id) on delete cascade,
      origin text not null check (origin in ('api', 'auto')),
      state text not null check (state in ('missing', 'waiting', 'failed', 'completed', 'unprocessable')),
      failure text,
      attributes text[] not null,
      abstract text,
      takeaways text[],
      attempts integer not null default 0,
      next_at timestamptz not null default now(),
      lease_owner text,
      lease_until timestamptz,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`.execute(db)
  await sql`create index summaries_due on summaries (next_at) where state = 'waiting'`.execute(db)
  await sql`create index summaries_created on summaries (environment, created_at, id)`.execute(db)
}
