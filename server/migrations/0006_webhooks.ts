import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table webhooks (
      id text primary key,
      environment text not null check (environment in ('production', 'sandbox')),
      url text not null,
      events text[] not null,
      secret text not null,
      previous_secret text,
      previous_until timestamptz,
      created_at timestamptz not null
    )`.execute(db)
  await sql`create index webhooks_created on webhooks (environment, created_at, id)`.execute(db)

  // One event on its way to one webhook. Without foreign keys: a webhook is deleted in an instant however much it
  // was sent, and what was sent goes with its events, by age.
  await sql`
    create table deliveries (
      id bigint generated always as identity primary key,
      webhook_id text not null,
      event_id text not null,
      subject text,
      state text not null default 'pending' check (state in ('pending', 'succeeded', 'failed')),
      tries integer not null default 0,
      attempts jsonb not null default '[]',
      next_at timestamptz not null default now(),
      holder text,
      created_at timestamptz not null
    )`.execute(db)
  await sql`create index deliveries_event on deliveries (event_id)`.execute(db)
  await sql`create index deliveries_webhook on deliveries (webhook_id, id)`.execute(db)
  await sql`create index deliveries_failed on deliveries (webhook_id, id) where state = 'failed'`.execute(db)
  await sql`create index deliveries_due on deliveries (webhook_id, next_at, id) where state = 'pending'`.execute(
    db,
  )
  // Finds what goes before a delivery about the same video.
  await sql`
    create index deliveries_untried on deliveries (webhook_id, subject, id)
    where state = 'pending' and tries = 0`.execute(db)

  await sql`alter table events add column is_test boolean not null default false`.execute(db)
  await sql`create index events_emitted on events (environment, emitted_at, position) where not is_test`.execute(
    db,
  )
  await sql`
    create index events_type on events (environment, type, emitted_at, position)
    where not is_test`.execute(db)
}
