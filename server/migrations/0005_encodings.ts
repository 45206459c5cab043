import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // What happened, in the order in which it did. It outlives what it tells of.
  await sql`
    create table events (
      position bigint generated always as identity primary key,
      id text not null unique,
      environment text not null check (environment in ('production', 'sandbox')),
      type text not null,
      video_id text,
      payload json not null,
      emitted_at timestamptz not null
    )`.execute(db)
  await sql`create index events_video on events (video_id, position) where video_id is not null`.execute(db)

  // How the source of a video becomes what is played. Without a plan the source could not be read.
  await sql`
    create table encodings (
      video_id text primary key references videos (id) on delete cascade,
      environment text not null,
      state text not null check (state in ('encoding', 'encoded', 'failed')),
      failure text,
      sound_failure text,
      media jsonb,
      plan jsonb,
      created_at timestamptz not null,
      finished_at timestamptz
    )`.execute(db)

  await sql`
    create table renditions (
      video_id text not null references encodings (video_id) on delete cascade,
      type text not null check (type in ('hls', 'mp4')),
      quality text not null,
      height integer not null,
      state text not null check (state in ('waiting', 'encoding', 'encoded', 'failed')),
      failure text,
      key text,
      primary key (video_id, type, quality)
    )`.execute(db)

  // Work to be done: a run of segments of the sound or of some qualities. Gone when it is done.
  await sql`
    create table chunks (
      id bigint generated always as identity primary key,
      video_id text not null references encodings (video_id) on delete cascade,
      environment text not null,
      track text not null check (track in ('picture', 'sound')),
      qualities text[] not null,
      first_segment integer not null,
      segments integer not null,
      priority integer not null,
      not_before timestamptz not null,
      holder text,
      held_until timestamptz,
      failures integer not null default 0,
      losses integer not null default 0
    )`.execute(db)
  await sql`create index chunks_video on chunks (video_id)`.execute(db)
  await sql`create index chunks_waiting on chunks (environment, priority, id) where holder is null`.execute(
    db,
  )
  await sql`create index chunks_held on chunks (held_until) where holder is not null`.execute(db)

  // What is there to play: files of the store, each with some segments one after the other.
  await sql`
    create table segments (
      video_id text not null references encodings (video_id) on delete cascade,
      rendition text not null,
      first_segment integer not null,
      sizes integer[] not null,
      key text not null,
      primary key (video_id, rendition, first_segment)
    )`.execute(db)
  // What a player needs before the segments, and the codec's name.
  await sql`
    create table initializations (
      video_id text not null references encodings (video_id) on delete cascade,
      rendition text not null,
      codec text not null,
      bytes bytea not null,
      primary key (video_id, rendition)
    )`.execute(db)
}
