import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // The content is in the row, so that it is replaced and deleted with it. It is always WebVTT.
  await sql`
    create table text_tracks (
      video_id text not null references videos (id) on delete cascade,
      kind text not null check (kind in ('captions', 'chapters')),
      language text not null,
      id text not null,
      is_default boolean not null default false check (kind = 'captions' or not is_default),
      origin text not null default 'uploaded' check (origin in ('uploaded', 'transcript')),
      content text not null,
      version uuid not null default gen_random_uuid(),
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now(),
      primary key (video_id, kind, language)
    )`.execute(db)
  await sql`create unique index text_tracks_default on text_tracks (video_id) where is_default`.execute(db)
}
