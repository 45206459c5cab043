import { sql } from 'kysely'
import type { Db } from '../../lib/db.ts'
import type { Tables } from '../../tables.ts'

/**
 * How many seconds of video are encoded in a second, by all workers together: the duration of the last videos, divided by
 * the time in which at least one of them was in progress. Null if nothing was encoded yet.
 */
export async function findEncodingSpeed(db: Db<Tables>): Promise<number | null> {
  const { rows } = await sql<{ speed: number | null }>`
    with last as (
      select (plan->>'frames')::float8 * (plan->'rate'->>'den')::float8 / (plan->'rate'->>'num')::float8 as seconds,
        tstzrange(created_at, finished_at) as period
      from encodings where state = 'encoded' and finished_at > created_at and plan is not null
      order by finished_at desc limit 20
    )
    select (select sum(seconds) from last)
      / (select extract(epoch from sum(upper(r) - lower(r)))::float8
         from (select unnest(range_agg(period)) as r from last) periods) as speed`.execute(db)
  return rows[0]?.speed || null
}
