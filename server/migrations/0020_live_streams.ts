import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table live_streams (
      id text primary key,
      environment text not null check (environment in ('production', 'sandbox')),
      name text not null,
      stream_key text not null unique,
      public boolean not null,
      record boolean not null,
      player_id text,
      restreams jsonb not null,
      metadata jsonb not null,
      show_viewers boolean not null,
      last_refusal jsonb,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      constraint live_streams_player foreign key (player_id, environment) references players (id, environment)
        on delete set null (player_id)
    )`.execute(db)
  // Apart from the stream, so that lists do not read the images.
  await sql`
    create table live_thumbnails (
      live_stream_id text primary key references live_streams (id) on delete cascade,
      data bytea not null
    )`.execute(db)
  await sql`create index live_streams_created on live_streams (environment, created_at, id)`.execute(db)
  await sql`create index live_streams_player_used on live_streams (player_id) where player_id is not null`.execute(
    db,
  )
}
