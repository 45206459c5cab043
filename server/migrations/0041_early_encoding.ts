import { type Kysely, sql } from 'kysely'

export const locks = ['all_videos', 'sources', 'videos']

export async function up(db: Kysely<unknown>): Promise<void> {
  // The bytes of the chunk that a request or a job is writing, which a video may already be encoded from, how often bytes had
  // to be discarded, and what had arrived when the source was last examined.
  await sql`
    alter table sources
      add column arriving_owner text,
      add column arriving_from bigint,
      add column arriving_bytes bigint,
      add column arrival_revision integer not null default 0,
      add column examined_bytes bigint not null default 0,
      add column examined_at timestamptz`.execute(db)
  // Null: who uploads the file decides.
  await sql`alter table all_videos add column playable_during_upload boolean`.execute(db)
  await sql`
    create or replace view videos as select * from all_videos where discarded_at is null`.execute(db)
}
