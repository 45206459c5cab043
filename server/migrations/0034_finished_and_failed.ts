import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // The sources to drop, and the speed of the last encodings.
  await sql`create index encodings_finished on encodings (finished_at, video_id) where state = 'encoded'`.execute(
    db,
  )
  // What has failed, for the system page. There are few of them.
  await sql`
    create index encodings_failed on encodings (video_id)
      where failure is not null or sound_failure is not null`.execute(db)
  await sql`create index renditions_failed on renditions (video_id) where state = 'failed'`.execute(db)
}
