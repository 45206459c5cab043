import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table upload_tokens (
      token text primary key,
      environment text not null check (environment in ('production', 'sandbox')),
      ttl integer not null,
      created_at timestamptz not null,
      expires_at timestamptz
    )`.execute(db)
  await sql`create index upload_tokens_created on upload_tokens (environment, created_at, token)`.execute(db)

  // The content of a video: how it comes, what of it has come. A row is made when the first byte is expected.
  await sql`
    create table sources (
      video_id text primary key references videos (id) on delete cascade,
      form text not null check (form in ('whole', 'bytes', 'parts', 'url', 'clone')),
      total bigint,
      size bigint,
      handle text not null,
      state text not null check (state in ('receiving', 'received', 'stored', 'failed')),
      failure text,
      token text,
      filename text,
      address text,
      validator text,
      tus_metadata text,
      created_at timestamptz not null,
      updated_at timestamptz not null
    )`.execute(db)
  // Finds the upload that a part without a video's id belongs to.
  await sql`
    create index sources_delegated on sources (token, filename, address, created_at)
    where token is not null and state = 'receiving'`.execute(db)
  await sql`create index videos_clones on videos (source_reference) where source_type = 'clone'`.execute(db)
  await sql`create index sources_handle on sources (handle)`.execute(db)
  await sql`create index sources_unfinished on sources (updated_at) where state = 'receiving'`.execute(db)

  // A piece is claimed before its bytes are written, so that no two requests write to one place.
  await sql`
    create table source_pieces (
      video_id text not null references sources (video_id) on delete cascade,
      position bigint not null,
      size bigint not null,
      sha256 text,
      place text,
      holder text,
      held_until timestamptz,
      primary key (video_id, position)
    )`.execute(db)
}
