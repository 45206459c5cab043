import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // The thumbnail that a video has, the one that is wished for, and its sprites. `version` counts wishes: what was
  // made for one of before does not count. `uploading_key` is of the upload that came last, until it is stored.
  await sql`
    create table pictures (
      video_id text primary key references videos (id) on delete cascade,
      wish text not null default 'automatic' check (wish in ('automatic', 'picked', 'uploaded')),
      timecode text,
      version integer not null default 1,
      thumbnail_key text,
      uploading_key text,
      sprites jsonb,
      sprites_key text
    )`.execute(db)
}
