import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // Nullable columns without a default, so that Postgres does not rewrite the table.
  await sql`
    alter table videos add column discarded_at timestamptz, add column deletes_at timestamptz`.execute(db)

  // `videos` becomes a view without discarded videos, so that no statement can forget the condition. Statements that
  // must see discarded videos read the table. A later migration that adds a column adds it to `all_videos` and then
  // repeats "create or replace view".
  await sql`alter table videos rename to all_videos`.execute(db)
  await sql`
    create or replace view videos as select * from all_videos where discarded_at is null`.execute(db)

  // One index for the list and for the deletion, because each one reads the entire table while it is locked.
  await sql`
    create index videos_discarded on all_videos (deletes_at) where discarded_at is not null`.execute(db)
  // Without statistics, Postgres assumes that almost all videos are discarded. Autovacuum would not update them until a
  // tenth of the rows has changed.
  await sql`analyze all_videos (discarded_at, deletes_at)`.execute(db)

  // Work on a discarded video stops until the video is restored.
  await sql`alter table chunks add column is_paused boolean not null default false`.execute(db)
  await sql`drop index chunks_waiting`.execute(db)
  await sql`
    create index chunks_waiting on chunks (environment, priority, id)
    where lease_owner is null and not is_paused`.execute(db)
  await sql`alter table sources add column is_paused boolean not null default false`.execute(db)
}
