import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  // The first numbers that no viewer of a broadcast has seen. They are written before viewers see the numbers below them.
  await sql`
    alter table broadcasts
      add column next_sequence integer not null default 0,
      add column next_epoch integer not null default 1`.execute(db)
  // Broadcasts that go on: an owner that was killed may have shown two segments that it has not stored.
  await sql`
    update broadcasts b
    set next_sequence = coalesce((select max(sequence) + 3 from live_segments where broadcast_id = b.id), 0),
      next_epoch = coalesce((select max(epoch) + 1 from live_inits where broadcast_id = b.id), 1)
    where state <> 'ended'`.execute(db)
}
