import { type Kysely, sql } from 'kysely'

export const locks = ['all_videos', 'sources']

export async function up(db: Kysely<unknown>): Promise<void> {
  // Lists of the videos in progress read these instead of all videos and sources.
  await sql`create index sources_receiving on sources (video_id) where state in ('receiving', 'received')`.execute(
    db,
  )
  await sql`create index videos_not_uploaded on all_videos (id) where source_type <> 'upload'`.execute(db)
}
