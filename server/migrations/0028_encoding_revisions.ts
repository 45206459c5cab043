import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // How often a video was encoded anew. Caches keep the segments of earlier encodings, so the URLs contain this number.
  // A foreign key would lock the video after its source, and a deletion locks them in the other order.
  await sql`
    create table encoding_revisions (
      video_id text primary key,
      revision integer not null
    )`.execute(db)
  await sql`
    create function delete_encoding_revision() returns trigger language plpgsql as $$
    begin
      delete from encoding_revisions where video_id = old.id;
      return null;
    end
    $$`.execute(db)
  await sql`
    create trigger delete_encoding_revision after delete on all_videos
    for each row execute function delete_encoding_revision()`.execute(db)
}
