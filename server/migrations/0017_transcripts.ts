import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table all_videos add column is_language_detected boolean not null default false`.execute(db)
  await sql`
    create or replace view videos as select * from all_videos where discarded_at is null`.execute(db)

  // `language` is null until the spoken language is known.
  await sql`
    create table transcripts (
      video_id text primary key references all_videos (id) on delete cascade,
      environment text not null check (environment in ('production', 'sandbox')),
      state text not null check (state in ('waiting', 'running', 'completed', 'failed', 'unprocessable')),
      failure text,
      language text,
      duration_ms integer,
      attempts integer not null default 0,
      next_at timestamptz not null default now(),
      lease_owner text,
      lease_until timestamptz,
      created_at timestamptz not null default now()
    )`.execute(db)
  await sql`create index transcripts_due on transcripts (next_at) where state in ('waiting', 'running')`.execute(
    db,
  )

  // The recognized pieces of the audio, without gap and overlap from the start on.
  await sql`
    create table transcript_pieces (
      video_id text not null references transcripts (video_id) on delete cascade,
      from_ms integer not null,
      to_ms integer not null check (to_ms > from_ms),
      is_last boolean not null,
      phrases jsonb not null,
      primary key (video_id, from_ms)
    )`.execute(db)
}
