import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // Made by the first process that needs them, the same for all.
  await sql`create table secrets (name text primary key, value bytea not null)`.execute(db)

  // Tokens of private videos that have been used, each by one viewer.
  await sql`
    create table playback_sessions (
      token text primary key,
      video_id text not null references videos on delete cascade,
      session text not null,
      viewer bytea not null,
      opened_at timestamptz not null
    )`.execute(db)
  await sql`create index playback_sessions_video on playback_sessions (video_id)`.execute(db)
  await sql`create index playback_sessions_opened on playback_sessions (opened_at)`.execute(db)

  await sql`
    create table signing_keys (
      id text primary key,
      environment text not null check (environment in ('production', 'sandbox')),
      name text not null,
      public_key text not null,
      created_at timestamptz not null
    )`.execute(db)
  await sql`create index signing_keys_created on signing_keys (environment, created_at, id)`.execute(db)
}
