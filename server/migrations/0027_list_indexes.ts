import { type Kysely, sql } from 'kysely'

/**
 * The indexes of the lists, without discarded videos and with the title: Postgres skips to any page by reading the index
 * alone. Before, it read each video that it skipped.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop index videos_created, videos_updated, videos_title`.execute(db)
  await sql`
    create index videos_created on all_videos (environment, created_at, id) where discarded_at is null`.execute(
    db,
  )
  await sql`
    create index videos_updated on all_videos (environment, updated_at, id) where discarded_at is null`.execute(
    db,
  )
  // Postgres does not use the expression without the column.
  await sql`
    create index videos_title on all_videos (environment, lower(left(title, 100)), id) include (title)
    where discarded_at is null`.execute(db)
}
