import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // A cache that all processes share. After a crash of the database, the frames are made again.
  await sql`
    create unlogged table live_frames (
      live_stream_id text primary key references live_streams on delete cascade,
      broadcast_id text not null,
      sequence integer not null,
      data bytea not null,
      made_at timestamptz not null
    )`.execute(db)
}
