import { type Kysely, sql } from 'kysely'

/**
 * The same text as before, in PL/pgSQL: an insert, without its indexes, took 1.4 times as long with a function in SQL.
 * It repeats the expression of `fold` instead of calling it, because a restored dump would not find `fold` by its name.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function video_text(title text, description text, tags text[], metadata jsonb)
    returns text language plpgsql immutable parallel safe as $$
    declare
      words text := concat_ws(E'\n', title, array_to_string(tags, E'\n'), (
        select string_agg(concat_ws(E'\n', pair ->> 'key', pair ->> 'value'), E'\n')
        from jsonb_array_elements(metadata) as pair
      ), description);
    begin
      return lower(regexp_replace(normalize(words, NFD), '[\u0300-\u036f]', '', 'g'));
    end $$`.execute(db)
}
