import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // Who watched what. One partition a day: what is too old goes by dropping a table, not by deleting rows. The id
  // names its day, so that a partition's own key makes it unique among all.
  await sql`
    create table viewing_sessions (
      id text not null,
      environment text not null check (environment in ('production', 'sandbox')),
      media_id text not null,
      media_type text not null check (media_type in ('video', 'live-stream')),
      loaded_at timestamptz not null,
      seen_at timestamptz not null,
      metadata jsonb not null,
      referrer text not null,
      country text,
      continent text,
      device_type text,
      device_vendor text,
      device_model text,
      os_name text,
      os_version text,
      browser_name text,
      browser_version text,
      viewer text not null,
      ready_ms integer,
      plays integer not null,
      first_played_at timestamptz,
      ends integer not null,
      watch_seconds double precision not null,
      position double precision,
      playing_since timestamptz,
      awaits_play boolean not null,
      event_at timestamptz not null,
      watched int4multirange not null,
      parts int4multirange not null,
      recent integer[] not null
    ) partition by range (loaded_at)`.execute(db)
  await sql`create index viewing_sessions_media on viewing_sessions (media_id, loaded_at)`.execute(db)
  await sql`create index viewing_sessions_environment on viewing_sessions (environment, loaded_at)`.execute(
    db,
  )
  // Finds a viewer to be forgotten. Most sessions carry nothing and cost nothing here.
  await sql`
    create index viewing_sessions_metadata on viewing_sessions using gin (metadata jsonb_path_ops)
    where metadata <> '{}'`.execute(db)

  // A sequence of its own: an identity column would keep partitions from being made beside and attached.
  await sql`create sequence viewing_events_position`.execute(db)
  await sql`
    create table viewing_events (
      session_id text not null,
      emitted_at timestamptz not null,
      position bigint not null default nextval('viewing_events_position'),
      type text not null,
      at double precision,
      from_at double precision,
      to_at double precision
    ) partition by range (emitted_at)`.execute(db)
  await sql`create index viewing_events_session on viewing_events (session_id, position)`.execute(db)

  // What was played in the days that have been dropped: totals are over all time.
  await sql`
    create table past_plays (
      media_id text primary key,
      environment text not null,
      media_type text not null,
      plays bigint not null
    )`.execute(db)

  // Attached, not created in place, which would make every reader and writer wait. The lock lets one process do it.
  // Rows of sessions are written anew with each report: room on the page keeps the indexes out of that.
  await sql`
    create function make_viewing_partitions(day date) returns void language plpgsql as $$
    declare
      parent text;
      child text;
      first timestamptz := day::timestamp at time zone 'UTC';
      beyond timestamptz := (day + 1)::timestamp at time zone 'UTC';
    begin
      perform pg_advisory_xact_lock(hashtextextended('viewing partitions', 0));
      foreach parent in array array['viewing_sessions', 'viewing_events'] loop
        child := parent || '_' || to_char(day, 'YYYYMMDD');
        if to_regclass(child) is null then
          execute format('create table %I (like %I including all)', child, parent);
          if parent = 'viewing_sessions' then
            execute format('alter table %I add primary key (id), set (fillfactor = 70)', child);
          end if;
          execute format(
            'alter table %I attach partition %I for values from (%L) to (%L)', parent, child, first, beyond);
        end if;
      end loop;
    end
    $$`.execute(db)
  await sql`
    select make_viewing_partitions((now() at time zone 'UTC')::date + ahead)
    from generate_series(-1, 2) as ahead`.execute(db)
}
