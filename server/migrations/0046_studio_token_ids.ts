import { type Kysely, sql } from 'kysely'

export const locks = ['studio_tokens']

export async function up(db: Kysely<unknown>): Promise<void> {
  // To list and delete a single token, of which only a hash is stored. The previous version inserts rows without an id.
  await sql`
    alter table studio_tokens
    add column id text not null unique default 'st' || left(replace(gen_random_uuid()::text, '-', ''), 22)`.execute(
    db,
  )
}
