import { type Kysely, sql } from 'kysely'

export const locks = ['live_streams']

export async function up(db: Kysely<unknown>): Promise<void> {
  // Who may broadcast to a live stream from a browser. A token opens one session, whose secret replaces it.
  await sql`
    create table studio_tokens (
      token_hash bytea primary key,
      live_stream_id text not null references live_streams (id) on delete cascade,
      session_hash bytea unique,
      created_at timestamptz not null,
      expires_at timestamptz not null
    )`.execute(db)
  // Processes that receive WebRTC, and how the others reach them.
  await sql`
    create table whip_receivers (
      id text primary key,
      url text not null,
      seen_at timestamptz not null
    )`.execute(db)
  await sql`create index studio_tokens_live_stream on studio_tokens (live_stream_id)`.execute(db)
  await sql`create index studio_tokens_expiry on studio_tokens (expires_at)`.execute(db)
}
