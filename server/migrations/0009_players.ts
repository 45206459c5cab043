import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // The logo lies in its row: it has 100 KiB at most, and so it comes and goes with it.
  await sql`
    create table players (
      id text primary key,
      environment text not null check (environment in ('production', 'sandbox')),
      name text not null,
      style jsonb not null,
      logo bytea,
      logo_name text,
      logo_link text,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      unique (id, environment)
    )`.execute(db)
  await sql`create index players_created on players (environment, created_at, id)`.execute(db)

  // A theme is of the environment of its videos. Those of a theme that is deleted have the default one again.
  await sql`
    alter table videos add constraint videos_player
    foreign key (player_id, environment) references players (id, environment)
    on delete set null (player_id)`.execute(db)
  await sql`create index videos_player_used on videos (player_id) where player_id is not null`.execute(db)
}
