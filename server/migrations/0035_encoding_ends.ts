import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // The encodings that exist have ended long ago and send no event. Setting this by a default does not rewrite the table.
  await sql`alter table encodings add column is_end_reported boolean not null default true`.execute(db)
  await sql`alter table encodings alter column is_end_reported set default false`.execute(db)
  // Those that have not ended: something is encoded, or an MP4 is made.
  await sql`
    update encodings e set is_end_reported = false
    where state = 'encoding' or exists (
      select from renditions r
      where r.video_id = e.video_id and type = 'mp4' and r.state in ('waiting', 'encoding'))`.execute(db)
}
