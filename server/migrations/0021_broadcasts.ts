import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // There is no foreign key to the live stream: a broadcast outlives its deletion until it is recorded.
  // `fence` grows with every owner. A process that lost the broadcast to another one can no longer write to it.
  await sql`
    create table broadcasts (
      id text primary key,
      live_stream_id text not null,
      environment text not null check (environment in ('production', 'sandbox')),
      record boolean not null,
      state text not null check (state in ('live', 'away', 'ended')),
      completing boolean not null,
      fence integer not null,
      owner_url text not null,
      lease_until timestamptz not null,
      target_seconds integer,
      qualities jsonb not null,
      health jsonb,
      restreams jsonb not null,
      started_at timestamptz not null,
      visible_at timestamptz,
      away_at timestamptz,
      ended_at timestamptz,
      deleted_stream jsonb
    )`.execute(db)
  await sql`create unique index broadcasts_current on broadcasts (live_stream_id) where state <> 'ended'`.execute(
    db,
  )
  await sql`create index broadcasts_of_stream on broadcasts (live_stream_id, started_at)`.execute(db)
  // One row for each connection of the encoder and quality: the init segment and what the master playlist says.
  await sql`
    create table live_inits (
      broadcast_id text not null references broadcasts (id) on delete cascade,
      quality text not null,
      epoch integer not null,
      data bytea not null,
      codecs text not null,
      width integer,
      height integer,
      primary key (broadcast_id, quality, epoch)
    )`.execute(db)
  await sql`
    create table live_segments (
      broadcast_id text not null references broadcasts (id) on delete cascade,
      quality text not null,
      sequence integer not null,
      epoch integer not null,
      start_ms bigint not null,
      duration_ms integer not null,
      bytes integer not null,
      fence integer not null,
      received_at timestamptz not null,
      primary key (broadcast_id, quality, sequence)
    )`.execute(db)
  // A recording is one video of a part of a broadcast. Its video is created when the state becomes "recorded".
  await sql`
    create table recordings (
      broadcast_id text not null references broadcasts (id) on delete cascade,
      part integer not null,
      from_sequence integer not null,
      to_sequence integer not null,
      video_id text not null,
      state text not null check (state in ('waiting', 'recorded', 'failed')),
      reason text,
      updated_at timestamptz not null,
      primary key (broadcast_id, part)
    )`.execute(db)
  await sql`alter table sources drop constraint sources_form_check`.execute(db)
  await sql`
    alter table sources add constraint sources_form_check
      check (form in ('whole', 'bytes', 'parts', 'url', 'clone', 'recording'))`.execute(db)
  // A session belongs to a video or to a live stream.
  await sql`
    alter table playback_sessions
      alter column video_id drop not null,
      add column live_stream_id text references live_streams (id) on delete cascade,
      add check (num_nonnulls(video_id, live_stream_id) = 1)`.execute(db)
  await sql`create index playback_sessions_live_stream on playback_sessions (live_stream_id)`.execute(db)
}
