import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table api_keys (
      id text primary key,
      environment text not null check (environment in ('production', 'sandbox')),
      name text not null,
      hash bytea not null unique,
      created_at timestamptz not null,
      revoked_at timestamptz
    )`.execute(db)
  await sql`
    create unique index api_keys_name on api_keys (environment, name) where revoked_at is null`.execute(db)
  await sql`
    create table tokens (
      hash bytea primary key,
      kind text not null check (kind in ('access', 'refresh')),
      key_id text not null references api_keys (id) on delete cascade,
      expires_at timestamptz not null
    )`.execute(db)
  await sql`create index tokens_key on tokens (key_id, expires_at)`.execute(db)
}
