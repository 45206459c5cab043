import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table import_runs (
      id text primary key,
      environment text not null check (environment in ('production', 'sandbox')),
      service text not null,
      account text not null,
      options jsonb not null,
      credentials bytea,
      state text not null check (state in ('running', 'ready', 'paused', 'completed', 'canceled', 'failed')),
      failure text,
      is_preview boolean not null,
      concurrency integer not null,
      bandwidth bigint,
      cursor text,
      listed_at timestamptz,
      wait_until timestamptz,
      attempts integer not null default 0,
      next_at timestamptz not null default now(),
      lease_owner text,
      lease_until timestamptz,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now(),
      ended_at timestamptz
    )`.execute(db)
  await sql`create index import_runs_environment on import_runs (environment, created_at, id)`.execute(db)
  await sql`create index import_runs_running on import_runs (next_at) where state = 'running'`.execute(db)

  await sql`
    create table import_items (
      id bigint generated always as identity primary key,
      run_id text not null references import_runs (id) on delete cascade,
      kind text not null check (kind in ('player', 'video', 'liveStream', 'webhook')),
      source_id text not null,
      title text not null,
      details jsonb not null,
      version text not null,
      content_version text not null,
      state text not null check (state in ('waiting', 'fetching', 'encoding', 'done', 'failed', 'skipped')),
      reason text,
      notes text[] not null default '{}',
      object_id text,
      bytes bigint,
      seconds double precision,
      attempts integer not null default 0,
      next_at timestamptz not null default now(),
      lease_owner text,
      lease_until timestamptz,
      updated_at timestamptz not null default now(),
      unique (run_id, kind, source_id)
    )`.execute(db)
  await sql`create index import_items_state on import_items (run_id, state, id)`.execute(db)
  await sql`create index import_items_encoding on import_items (object_id) where state = 'encoding'`.execute(
    db,
  )

  // What an environment has from where, in all runs.
  await sql`
    create table imported_objects (
      environment text not null check (environment in ('production', 'sandbox')),
      service text not null,
      account text not null,
      kind text not null check (kind in ('player', 'video', 'liveStream', 'webhook')),
      source_id text not null,
      object_id text not null,
      version text,
      content_version text not null,
      is_complete boolean not null default false,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now(),
      primary key (environment, service, account, kind, source_id)
    )`.execute(db)
  await sql`create index imported_objects_object on imported_objects (object_id)`.execute(db)
}
