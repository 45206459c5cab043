import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // All texts of a video in one column, because the words of a search may be in different fields. Line breaks separate
  // the fields: a word has none, so no word is found across two of them. Postgres computes the column, so that no
  // statement can forget it. The body is not a string, because a restored dump would not find `fold` by its name.
  await sql`
    create function video_text(title text, description text, tags text[], metadata jsonb)
    returns text language sql immutable parallel safe
    return fold(concat_ws(E'\n', title, array_to_string(tags, E'\n'), (
      select string_agg(concat_ws(E'\n', pair ->> 'key', pair ->> 'value'), E'\n')
      from jsonb_array_elements(metadata) as pair
    ), description))`.execute(db)
  await sql`
    alter table all_videos add column search_text text
    generated always as (video_text(title, description, tags, metadata)) stored`.execute(db)
  await sql`
    create or replace view videos as select * from all_videos where discarded_at is null`.execute(db)
  // An index of its own: one with all columns would have to be built again. The pending list is as in the other one.
  await sql`
    create index videos_text on all_videos using gin (search_text gin_trgm_ops)
    with (gin_pending_list_limit = 512)`.execute(db)
  // Without statistics, Postgres would not know which words are common.
  await sql`analyze all_videos (search_text)`.execute(db)

  // Lists by state read these instead of the rows with their plans.
  await sql`create index encodings_state on encodings (state, video_id)`.execute(db)
  await sql`create index sources_failed on sources (video_id) where state = 'failed'`.execute(db)
  await sql`
    create index events_live_stream on events ((payload ->> 'liveStreamId'), emitted_at)
    where payload ->> 'liveStreamId' is not null`.execute(db)
}
