import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  await createLoginTables(db)
  await sql`alter table api_keys add column last_used_at timestamptz`.execute(db)
  await createFunctions(db)
  await createTriggers(db)
}

async function createLoginTables(db: Kysely<unknown>): Promise<void> {
  // Until `password_until`, the session may set the password without the current one.
  await sql`
    create table dashboard_sessions (
      id text primary key,
      hash bytea not null unique,
      created_at timestamptz not null,
      expires_at timestamptz not null,
      password_until timestamptz
    )`.execute(db)
  await sql`create index dashboard_sessions_expiry on dashboard_sessions (expires_at)`.execute(db)
  await sql`
    create table login_links (
      hash bytea primary key,
      created_at timestamptz not null,
      expires_at timestamptz not null,
      used_at timestamptz
    )`.execute(db)
  // One row at most. `is_setting` means that the password was in the settings when the service started.
  await sql`
    create table admin_password (
      id boolean primary key default true check (id),
      hash text not null,
      is_setting boolean not null,
      updated_at timestamptz not null
    )`.execute(db)
  await sql`
    create table login_attempts (
      subject text primary key,
      attempts integer not null,
      ends_at timestamptz not null
    )`.execute(db)
}

/**
 * Each function first checks whether a dashboard is open, so that writes take hardly longer while none is. The sequence
 * holds the time, in seconds, until which one is. A row of a table would take twice as long to read: 20 µs for each
 * write. `pg_sequence_last_value` is not documented, but the view `pg_sequences` is made of it.
 */
async function createFunctions(db: Kysely<unknown>): Promise<void> {
  await sql`create sequence dashboard_watched_until`.execute(db)
  const isWatched = `pg_sequence_last_value('dashboard_watched_until'::regclass) > date_part('epoch', now())`
  const notify = (environment: string, id: string) =>
    `perform pg_notify('kinora_changes', tg_argv[0] || ' ' || ${environment} || ' ' || ${id});`
  const define = (name: string, body: string) =>
    sql
      .raw(
        `create function ${name}() returns trigger language plpgsql as $$
         begin
           if ${isWatched} then ${body} end if;
           return null;
         end $$`,
      )
      .execute(db)
  const changed = (row: string) => `if tg_op = 'DELETE' then ${row.replaceAll('@', 'old')} else
    ${row.replaceAll('@', 'new')} end if;`
  // The owner of a row may be deleted with it. It then has its own notification.
  const ownerOf = (table: string, key: string, id: string) =>
    `perform pg_notify('kinora_changes', tg_argv[0] || ' ' || environment || ' ' || ${id})
     from ${table} where id = ${key};`

  await define('notify_change', changed(notify('@.environment', '@.id')))
  await define('notify_video_change', changed(ownerOf('all_videos', '@.video_id', '@.video_id')))
  await define('notify_broadcast_change', changed(notify('@.environment', '@.live_stream_id')))
  await define('notify_recording_change', changed(ownerOf('broadcasts', '@.broadcast_id', 'live_stream_id')))
  await define('notify_delivery_change', changed(ownerOf('webhooks', '@.webhook_id', '@.webhook_id')))
  await define('notify_event', notify('new.environment', `coalesce(new.video_id, '')`))
  await define('notify_any_change', notify(`'*'`, `''`))
}

async function createTriggers(db: Kysely<unknown>): Promise<void> {
  const any = 'insert or update or delete'
  const rows = (table: string, kind: string, name: string, when = any) =>
    sql
      .raw(
        `create trigger ${table}_changed after ${when} on ${table}
         for each row execute function ${name}('${kind}')`,
      )
      .execute(db)
  await rows('all_videos', 'videos', 'notify_change')
  // Not the columns of the lock, which a tus upload renews all the time.
  await rows(
    'sources',
    'videos',
    'notify_video_change',
    'insert or delete or update of state, total, size, failure, received_pieces, received_bytes',
  )
  for (const table of ['encodings', 'renditions', 'segments', 'pictures', 'text_tracks', 'summaries'])
    await rows(table, 'videos', 'notify_video_change')
  await rows(
    'transcripts',
    'videos',
    'notify_video_change',
    'insert or delete or update of state, language, failure',
  )
  await rows('live_streams', 'live-streams', 'notify_change')
  await rows('broadcasts', 'live-streams', 'notify_broadcast_change')
  await rows('recordings', 'live-streams', 'notify_recording_change')
  await rows('players', 'players', 'notify_change')
  await rows('watermarks', 'watermarks', 'notify_change')
  await rows('api_keys', 'keys', 'notify_change')
  await rows('webhooks', 'webhooks', 'notify_change')
  await rows('deliveries', 'deliveries', 'notify_delivery_change', 'insert or update of state, attempts')
  await rows('events', 'events', 'notify_event', 'insert')

  // Not the renewals of leases.
  await rows('chunks', 'system', 'notify_any_change', 'insert or delete or update of lease_owner, is_paused')

  // Reports write their sessions to partitions, where the trigger of the table does not run.
  await sql`
    create trigger viewing_events_changed after insert on viewing_events
    for each statement execute function notify_any_change('sessions')`.execute(db)
}
