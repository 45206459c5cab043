import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // A bound token can fill one video only, so it goes with it.
  await sql`
    alter table upload_tokens add column video_id text references videos (id) on delete cascade`.execute(db)
  await sql`create index upload_tokens_video on upload_tokens (video_id) where video_id is not null`.execute(
    db,
  )

  // Not a reference: a video outlives the token that created it.
  await sql`alter table videos add column upload_token text`.execute(db)

  // Sums of the pieces that have arrived, so that no request has to read them all. The lock of a tus upload has
  // columns of its own instead of a piece at position -1.
  await sql`
    alter table sources
      add column created_by text,
      add column received_pieces integer not null default 0,
      add column received_bytes bigint not null default 0,
      add column lock_holder text,
      add column lock_until timestamptz,
      add column lock_wanted boolean not null default false`.execute(db)
  await sql`delete from source_pieces where position < 0`.execute(db)
  await sql`
    update sources s set received_pieces = p.pieces, received_bytes = p.bytes
    from (select video_id, count(*) as pieces, sum(size) as bytes
          from source_pieces where place is not null group by video_id) p
    where p.video_id = s.video_id`.execute(db)

  // Null has come to mean that it is not a tus upload, which could not be told before.
  await sql`
    update sources set tus_metadata = ''
    where tus_metadata is null and form = 'bytes' and state = 'receiving'`.execute(db)

  // Uploads that are under way belong to the token that began them.
  await sql`update sources set created_by = token where token is not null`.execute(db)
  await sql`
    update videos v set upload_token = s.token from sources s
    where s.video_id = v.id and s.token is not null and s.state = 'receiving'`.execute(db)
}
