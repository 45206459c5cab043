import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create extension if not exists pg_trgm`.execute(db)

  await sql`
    create table videos (
      id text primary key,
      environment text not null check (environment in ('production', 'sandbox')),
      title text not null,
      description text not null,
      public boolean not null,
      panoramic boolean not null,
      mp4_support boolean not null,
      tags text[] not null,
      metadata jsonb not null,
      player_id text,
      language text,
      source_type text not null check (source_type in ('upload', 'url', 'clone', 'liveStream')),
      source_reference text,
      clip jsonb,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      tag_terms uuid[] not null,
      metadata_terms uuid[] not null
    )`.execute(db)

  // One index for each order of the list. The title's first letters suffice to sort by and keep the entry small.
  await sql`create index videos_created on videos (environment, created_at, id)`.execute(db)
  await sql`create index videos_updated on videos (environment, updated_at, id)`.execute(db)
  await sql`create index videos_title on videos (environment, lower(left(title, 100)), id)`.execute(db)
  await sql`
    create index videos_live_stream on videos (source_reference, created_at) where source_type = 'liveStream'`.execute(
    db,
  )
  // One index for every search, by parts of texts and by terms, so that any mix of them is one look-up. Terms are
  // hashes of tags and of metadata pairs: an index entry may not pass 2,704 bytes and a pair may. New entries wait
  // in a list that every search reads; 512 kB of it keep both inserts and searches quick.
  await sql`
    create index videos_search on videos
    using gin (tag_terms, metadata_terms, title gin_trgm_ops, description gin_trgm_ops)
    with (gin_pending_list_limit = 512)`.execute(db)

  // How many videos an environment has, and how many with each tag (tag '' stands for all): counting a million
  // rows for each page would take a second. Changes are appended, never updated, so that two writers of one tag
  // do not wait for each other; the worker adds them up.
  await sql`
    create table video_counts (
      environment text not null,
      tag text not null,
      videos bigint not null,
      primary key (environment, tag)
    )`.execute(db)
  await sql`create index video_counts_empty on video_counts (tag) where videos = 0`.execute(db)
  await sql`
    create table video_count_changes (
      environment text not null,
      tags text[] not null,
      change integer not null
    )`.execute(db)

  // Search among tags ignores case and accents.
  await sql`
    create function fold(word text) returns text language sql immutable strict parallel safe as $$
      select lower(regexp_replace(normalize(word, NFD), '[\u0300-\u036f]', '', 'g'))
    $$`.execute(db)
  await sql`create index video_counts_folded on video_counts using gin (fold(tag) gin_trgm_ops)`.execute(db)
}
