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
  /** Key-value pairs that every session must have. */
  metadata?: Record<string, string>
}

export const valueOrders = ['sessions', 'plays', 'watchTime', 'completion'] as const
const columns = {
  sessions: 'sessions',
  plays: 'plays',
  watchTime: 'watch_time',
  completion: 'completion',
} as const
export type ValueOrder = { by: (typeof valueOrders)[number]; order: 'asc' | 'desc' }

function matches({ environment, period, videoId, metadata }: TaggedSessions): RawBuilder<boolean> {
  const conditions = [
    sql`environment = ${environment} and loaded_at >= ${period.from} and loaded_at < ${period.to}`,
    videoId !== undefined && sql`media_id = ${videoId}`,
    // The index covers only sessions with metadata; the first condition makes Postgres use it.
    metadata && sql`metadata <> '{}' and metadata @> ${JSON.stringify(metadata)}::jsonb`,
  ]
  return sql.join(
    conditions.filter((condition) => !!condition),
    sql` and `,
  )
}

/**
 * The fraction of the video that was watched, from 0 to 1. Most sessions watched one continuous range, whose length needs
 * no unnest; this special case halves the time of this column.
 */
const watchedFraction = sql`
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

/** Aggregates sessions by the values of a metadata key. */
export async function listValues(
  db: Db<Tables>,
  sessions: TaggedSessions,
  { key, value, order, page }: { key: string; value?: string | undefined; order: ValueOrder; page: Page },
): Promise<{ values: ValueRow[]; total: number }> {
  const sorting = sql`${sql.ref(columns[order.by])} ${sql.raw(order.order)} nulls last, value`
  const selected =
    value === undefined ? sessions : { ...sessions, metadata: { ...sessions.metadata, [key]: value } }
  const { rows } = await sql<ValueRow & { total: number; value: string | null }>`
    with found as materialized (
      select metadata ->> ${key} as value, count(*) as sessions, sum(plays) as plays,
             sum(watch_seconds) as watch_time,
             avg(watch_seconds) filter (where first_played_at is not null) as average_watch_time,
             avg(${watchedFraction})::float8 as completion, max(seen_at) as last_seen_at
      from viewing_sessions where ${matches(selected)} and metadata ? ${key} group by 1
    )
    select total, page.* from (select count(*) as total from found) as counted
    left join lateral (
      select * from found order by ${sorting} limit ${page.pageSize} offset ${page.offset}
    ) as page on true
    order by ${sorting}`.execute(db)
  // An empty page has one row, which contains only the total.
  return { values: rows.filter((row) => row.value !== null), total: Number(rows[0]?.total ?? 0) }
}

export type KeyRow = { key: string; sessions: number; values: number }

/** Taking the pairs of a million sessions apart takes seconds. */
export const maxKeySessions = 100_000

/**
 * Lists the metadata keys of the newest sessions. `countedFrom` is the time of the oldest one if there may be more. Viewers
 * have several sessions with the same pairs, so that taking each set of pairs apart only once halves the time.
 */
export async function listKeys(
  db: Db<Tables>,
  sessions: TaggedSessions,
  page: Page,
  maxSessions = maxKeySessions,
): Promise<{ keys: KeyRow[]; total: number; countedFrom: Date | null }> {
  const { rows } = await sql<KeyRow & { total: number; counted_from: Date | null; key: string | null }>`
    with newest as materialized (
      select metadata, loaded_at from viewing_sessions where ${matches(sessions)} and metadata <> '{}'
      order by loaded_at desc limit ${maxSessions}
    ), found as materialized (
      select key, sum(sessions) as sessions, count(*) as values from (
        select key, value, sum(sessions) as sessions from (
          select metadata, count(*) as sessions from newest group by metadata
        ) as viewers, jsonb_each_text(metadata) group by key, value
      ) as pairs group by key
    )
    select total, counted_from, page.* from (select count(*) as total from found) as counted
    cross join (
      select case when count(*) >= ${maxSessions} then min(loaded_at) end as counted_from from newest
    ) as oldest
    left join lateral (
      select * from found order by sessions desc, key limit ${page.pageSize} offset ${page.offset}
    ) as page on true
    order by sessions desc, key`.execute(db)
  // A sum of bigint counts is numeric, which the driver returns as text.
  const keys = rows.map((row) => ({ key: row.key, sessions: Number(row.sessions), values: row.values }))
  return {
    keys: keys.filter(({ key }) => key !== null),
    total: Number(rows[0]?.total ?? 0),
    countedFrom: rows[0]?.counted_from ?? null,
  }
}

export type RetentionGroup = { value: string; sessions: number; edges: [at: number, change: number][] | null }

const maxValues = 10

/**
 * Returns the number of sessions with a play, and where their watched ranges start (+1) and end (-1), in hundredths of
 * the video. Without a key there is one group of all sessions, otherwise one for each of the most frequent values. A
 * session has only a few such edges, while checking each hundredth would take a hundred comparisons. Many sessions
 * watched the same parts, and their edges are counted at once.
 */
export async function readRetention(
  db: Db<Tables>,
  sessions: TaggedSessions,
  key: string | undefined,
): Promise<RetentionGroup[]> {
  const value = key === undefined ? sql`''` : sql`metadata ->> ${key}`
  const { rows } = await sql<RetentionGroup>`
    with played as materialized (
      select ${value} as value, parts, count(*) as sessions from viewing_sessions
      where ${matches(sessions)} and first_played_at is not null group by 1, 2
    ), top as (
      select value, sum(sessions) as sessions from played where value is not null
      group by value order by sessions desc, value limit ${maxValues}
    ), edges as (
      select value, at, sum(change) as change
      from top join played using (value), unnest(parts) as part,
           lateral (values (lower(part), played.sessions), (upper(part), -played.sessions)) as edge (at, change)
      group by value, at
    )
    select top.value, top.sessions, jsonb_agg(jsonb_build_array(at, change)) filter (where at is not null) as edges
    from top left join edges using (value)
    group by top.value, top.sessions order by sessions desc, top.value`.execute(db)
  return rows
}

/** Returns undefined while the duration is not known. */
export async function findDuration(db: Db<Tables>, videoId: string): Promise<number | undefined> {
  const row = await db
    .selectFrom('encodings')
    .select('plan')
    .where('video_id', '=', videoId)
    .executeTakeFirst()
  return row?.plan ? secondsOf(row.plan) : undefined
}

const secondsOf = ({ frames, rate }: EncodingPlan) => (frames * rate.den) / rate.num
