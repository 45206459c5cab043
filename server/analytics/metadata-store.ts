import { type RawBuilder, sql } from 'kysely'
import type { EncodingPlan } from '../encoding/tables.ts'
import type { Environment } from '../environments.ts'
import type { Db } from '../lib/db.ts'
import type { Page } from '../lib/paging.ts'
import type { Tables } from '../tables.ts'
import type { Period } from './data-query.ts'

export type TaggedSessions = {
  environment: Environment
  period: Period
  videoId?: string
  /** Pairs that the sessions must all carry. */
  metadata?: Record<string, string>
}

export const valueOrders = ['sessions', 'plays', 'watchTime', 'completion'] as const
export type ValueOrder = { by: (typeof valueOrders)[number]; order: 'asc' | 'desc' }

function chosen({ environment, period, videoId, metadata }: TaggedSessions): RawBuilder<boolean> {
  const conditions = [
    sql`environment = ${environment} and loaded_at >= ${period.from} and loaded_at < ${period.to}`,
    videoId !== undefined && sql`media_id = ${videoId}`,
    // The index has only sessions that carry something: it is used where that is asked for.
    metadata && sql`metadata <> '{}' and metadata @> ${JSON.stringify(metadata)}::jsonb`,
  ]
  return sql.join(
    conditions.filter((condition) => !!condition),
    sql` and `,
  )
}

/**
 * How much of the video was seen, from 0 to 1. Most sessions saw one stretch, whose length is told without taking
 * it apart: that halves the time of this column.
 */
const share = sql`
  case when media_type = 'video' and first_played_at is not null then
    case when parts = '{}' then 0
         when parts = multirange(range_merge(parts)) then upper(parts) - lower(parts)
         else (select sum(upper(part) - lower(part)) from unnest(parts) as part)
    end / 100.0
  end`

export type ValueRow = {
  value: string
  sessions: number
  plays: number
  watch_time: number
  average_watch_time: number | null
  completion: number | null
  last_seen_at: Date
}

/** What the sessions with each value of a key have in common, a page of it. */
export async function listValues(
  db: Db<Tables>,
  sessions: TaggedSessions,
  key: string,
  value: string | undefined,
  { by, order }: ValueOrder,
  page: Page,
): Promise<{ values: ValueRow[]; total: number }> {
  const direction = sql.raw(order)
  const column = { sessions: 'sessions', plays: 'plays', watchTime: 'watch_time', completion: 'completion' }[
    by
  ]
  const place = sql`${sql.ref(column)} ${direction} nulls last, value`
  const wanted =
    value === undefined ? sessions : { ...sessions, metadata: { ...sessions.metadata, [key]: value } }
  const { rows } = await sql<ValueRow & { total: number; value: string | null }>`
    with found as materialized (
      select metadata ->> ${key} as value, count(*) as sessions, sum(plays) as plays,
             sum(watch_seconds) as watch_time,
             avg(watch_seconds) filter (where first_played_at is not null) as average_watch_time,
             avg(${share})::float8 as completion, max(seen_at) as last_seen_at
      from viewing_sessions where ${chosen(wanted)} and metadata ? ${key} group by 1
    )
    select total, page.* from (select count(*) as total from found) as counted
    left join lateral (
      select * from found order by ${place} limit ${page.pageSize} offset ${page.offset}
    ) as page on true
    order by ${place}`.execute(db)
  // A page without values has one row, which tells the total alone.
  return { values: rows.filter((row) => row.value !== null), total: Number(rows[0]?.total ?? 0) }
}

export type KeyRow = { key: string; sessions: number; values: number }

/** Which keys sessions carry. */
export async function listKeys(
  db: Db<Tables>,
  sessions: TaggedSessions,
  page: Page,
): Promise<{ keys: KeyRow[]; total: number }> {
  const { rows } = await sql<KeyRow & { total: number; key: string | null }>`
    with found as materialized (
      select key, sum(sessions) as sessions, count(*) as values from (
        select key, value, count(*) as sessions from viewing_sessions, jsonb_each_text(metadata)
        where ${chosen(sessions)} and metadata <> '{}' group by key, value
      ) as pairs group by key
    )
    select total, page.* from (select count(*) as total from found) as counted
    left join lateral (
      select * from found order by sessions desc, key limit ${page.pageSize} offset ${page.offset}
    ) as page on true
    order by sessions desc, key`.execute(db)
  // The sum of counts is a numeric, which comes as text.
  const keys = rows.map((row) => ({ key: row.key, sessions: Number(row.sessions), values: row.values }))
  return { keys: keys.filter(({ key }) => key !== null), total: Number(rows[0]?.total ?? 0) }
}

export type Crowd = { value: string; sessions: number; edges: [at: number, change: number][] | null }

const mostValues = 10

/**
 * How many sessions were played, and where what they saw begins (+1) and ends (-1), in hundredths of the video: of
 * all together, or for each of the values that most sessions have. A session has a few such edges, where testing
 * each hundredth would look at a hundred.
 */
export async function readCrowds(
  db: Db<Tables>,
  sessions: TaggedSessions,
  key: string | undefined,
): Promise<Crowd[]> {
  const value = key === undefined ? sql`''` : sql`metadata ->> ${key}`
  const { rows } = await sql<Crowd>`
    with played as materialized (
      select ${value} as value, parts from viewing_sessions
      where ${chosen(sessions)} and first_played_at is not null
    ), most as (
      select value, count(*) as sessions from played where value is not null
      group by value order by sessions desc, value limit ${mostValues}
    ), edges as (
      select value, at, sum(change) as change
      from most join played using (value), unnest(parts) as part,
           lateral (values (lower(part), 1), (upper(part), -1)) as edge (at, change)
      group by value, at
    )
    select most.value, most.sessions, jsonb_agg(jsonb_build_array(at, change)) filter (where at is not null) as edges
    from most left join edges using (value)
    group by most.value, most.sessions order by sessions desc, most.value`.execute(db)
  return rows
}

/** Undefined while it is not known. */
export async function findDuration(db: Db<Tables>, videoId: string): Promise<number | undefined> {
  const row = await db
    .selectFrom('encodings')
    .select('plan')
    .where('video_id', '=', videoId)
    .executeTakeFirst()
  return row?.plan ? secondsOf(row.plan) : undefined
}

const secondsOf = ({ frames, rate }: EncodingPlan) => (frames * rate.den) / rate.num
