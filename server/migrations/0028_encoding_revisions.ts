import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // How often a video was encoded anew. Caches keep the segments of earlier encodings, so the URLs contain this number.
  await sql`
    create table encoding_revisions (
      video_id text primary key references all_videos (id) on delete cascade,
      revision integer not null
    )`.execute(db)
}
