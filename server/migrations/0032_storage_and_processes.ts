import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // Null for files that an earlier version has made.
  await sql`
    alter table pictures add column thumbnail_bytes bigint, add column sprites_bytes bigint`.execute(db)

  // A source whose file is not needed any more is dropped. The row stays: the video has no other source.
  await sql`alter table sources drop constraint sources_state_check`.execute(db)
  await sql`
    alter table sources add constraint sources_state_check
      check (state in ('receiving', 'received', 'stored', 'failed', 'dropped'))`.execute(db)
  await sql`create index sources_stored on sources (video_id) where state = 'stored'`.execute(db)

  // The running processes of all machines. A process that is killed leaves its row, which expires.
  await sql`
    create table processes (
      id text primary key,
      host text not null,
      pid integer not null,
      version text not null,
      roles text[] not null,
      encode_slots integer not null,
      started_at timestamptz not null,
      seen_at timestamptz not null,
      clock_offset_ms integer not null
    )`.execute(db)
}
