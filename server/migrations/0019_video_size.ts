import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // Every response with a video contains an iframe in its aspect ratio, so the size is stored next to the title.
  await sql`alter table all_videos add column width integer, add column height integer`.execute(db)
  await sql`
    create or replace view videos as select * from all_videos where discarded_at is null`.execute(db)
  await sql`
    update all_videos
    set width = (plan #>> '{rungs,-1,width}')::integer, height = (plan #>> '{rungs,-1,height}')::integer
    from encodings where video_id = id and plan is not null`.execute(db)
}
