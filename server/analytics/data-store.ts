import { type RawBuilder, sql } from 'kysely'
import type { Environment } from '../environments.ts'
import type { Db } from '../lib/db.ts'
import type { Page } from '../lib/paging.ts'
import type { Tables } from '../tables.ts'
import { tagTerms } from '../videos/store.ts'
import type { Measure, Period } from './data-query.ts'
import type { Breakdown, FilterBy, Interval } from './data-schemas.ts'

// One row of viewing_sessions is one session, with all that came of it added up: every read here is one pass over
// the rows of its period, and the partitions of other days are not looked at.

export type Sessions = { environment: Environment; period: Period; filterBy: FilterBy }
export type Order = { by: 'dimension' | 'value'; order: 'asc' | 'desc' }

/** One that is still open counts as watching from its first play to its last report; a tab is left open no longer. */
const longestSession = sql`interval '1 day'`

/** What is not known is called so, and can be asked for by that name. */
const known = (column: string) => sql<string>`coalesce(${sql.ref(column)}, 'unknown')`
const folded = (column: string) => sql<string>`lower(${known(column)})`
const renamed = (column: string, [ours, theirs]: readonly [string, string]) =>
  sql<string>`case when ${sql.ref(column)} = ${ours} then ${theirs} else ${folded(column)} end`

/** Where the name in the header User-Agent is not the one that existing clients ask for. */
const macOs = ['macOS', 'mac osx'] as const
const edge = ['Microsoft Edge', 'edge'] as const

export const dimensions: Record<Breakdown, RawBuilder<string>> = {
  'media-id': sql`media_id`,
  'media-type': sql`media_type`,
  continent: known('continent'),
  country: known('country'),
  'device-type': folded('device_type'),
  'operating-system': renamed('os_name', macOs),
  browser: renamed('browser_name', edge),
  referrer: sql`referrer`,
}

const all = sql<string>`''::text`

const isOneOf = (column: RawBuilder<string>, values: string[] | undefined) =>
  values && sql<boolean>`${column} = any(${values}::text[])`

const lower = (values: string[] | undefined) => values?.map((value) => value.toLowerCase())
const code = (values: string[] | undefined) =>
  values?.map((value) => (value.toLowerCase() === 'unknown' ? 'unknown' : value.toUpperCase()))

export function fits(environment: Environment, filterBy: FilterBy): RawBuilder<boolean> {
  const { mediaId, mediaType, continent, country, deviceType, operatingSystem, browser, tag, referrer } =
    filterBy
  const conditions = [
    sql<boolean>`environment = ${environment}`,
    isOneOf(sql`media_id`, mediaId),
    mediaType && sql<boolean>`media_type = ${mediaType}`,
    isOneOf(dimensions.continent, continent),
    isOneOf(dimensions.country, code(country)),
    isOneOf(dimensions['device-type'], lower(deviceType)),
    isOneOf(dimensions['operating-system'], lower(operatingSystem)),
    isOneOf(dimensions.browser, lower(browser)),
    isOneOf(sql`referrer`, referrer),
    tag !== undefined &&
      sql<boolean>`media_id in (
        select id from videos
        where environment = ${environment} and tag_terms @> ${tagTerms(environment, [tag])}::uuid[])`,
  ]
  return sql.join(
    conditions.filter((condition) => !!condition),
    sql` and `,
  )
}

const within = ({ from, to }: Period) => sql<boolean>`loaded_at >= ${from} and loaded_at < ${to}`

/** One number of a group of sessions. */
function aggregate(measure: Exclude<Measure, { of: 'ccv' }>): RawBuilder<number> {
  if (measure.of === 'view') {
    const counted = measure.isUnique ? sql`distinct viewer` : sql`*`
    return sql`count(${counted}) filter (where watch_seconds >= ${measure.seconds})`
  }
  const isAverage = measure.by === 'average'
  switch (measure.of) {
    case 'play':
      return measure.by === 'rate' ? sql`sum(plays)::float8 / count(*)` : sql`sum(plays)`
    case 'start':
      return sql`count(first_played_at)`
    case 'end':
      return sql`sum(ends)`
    case 'impression':
      return sql`count(*)`
    case 'impression-time':
      return isAverage ? sql`avg(ready_ms)::float8` : sql`sum(ready_ms)`
    case 'watch-time':
      // A session that was never played has no time that could make the average shorter.
      return isAverage
        ? sql`avg(watch_seconds) filter (where first_played_at is not null)`
        : sql`sum(watch_seconds)`
  }
}

/** Rows of `dimension` and `value`. */
function measured(sessions: Sessions, measure: Measure, dimension: RawBuilder<unknown>): RawBuilder<Row> {
  const { environment, filterBy, period } = sessions
  if (measure.of === 'ccv')
    return concurrent(watching(sessions, measure.isUnique, dimension), measure.by, period)
  return sql`
    select ${dimension} as dimension, ${aggregate(measure)} as value from viewing_sessions
    where ${fits(environment, filterBy)} and ${within(period)} group by 1`
}

type Row = { dimension: unknown; value: number }

/** From when to when each session, or each viewer, watched within the period. */
function watching(
  { environment, filterBy, period: { from, to } }: Sessions,
  isUnique: boolean,
  dimension: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const sessions = sql`
    select ${dimension} as dimension, viewer, greatest(first_played_at, ${from}) as began,
           least(greatest(seen_at, first_played_at), ${to}) as ended
    from viewing_sessions
    where ${fits(environment, filterBy)} and first_played_at < ${to} and seen_at >= ${from}
      and loaded_at >= ${from}::timestamptz - ${longestSession} and loaded_at < ${to}`
  if (!isUnique) return sessions
  return sql`
    select dimension, lower(stay) as began, upper(stay) as ended from (
      select dimension, range_agg(tstzrange(began, ended, '[]')) as stays
      from (${sessions}) as s group by dimension, viewer
    ) as v, unnest(stays) as stay`
}

/**
 * How many watch at once. The highest number is found by walking along all beginnings and ends in their order;
 * who ends in the moment in which another begins still counts then.
 */
function concurrent(
  watching: RawBuilder<unknown>,
  by: 'peak' | 'average',
  { from, to }: Period,
): RawBuilder<Row> {
  if (by === 'average') {
    return sql`
      select dimension, sum(extract(epoch from ended - began))::float8
             / greatest(1, extract(epoch from least(${to}, now()) - ${from}::timestamptz))::float8 as value
      from (${watching}) as w group by dimension`
  }
  return sql`
    select dimension, max(watching) as value from (
      select dimension, sum(change) over (partition by dimension order by at, change desc rows unbounded preceding)
             as watching
      from (${watching}) as w, lateral (values (began, 1), (ended, -1)) as edge (at, change)
    ) as walk group by dimension`
}

export async function readMetric(db: Db<Tables>, sessions: Sessions, measure: Measure): Promise<number> {
  const { rows } = await measured(sessions, measure, all).execute(db)
  return Number(rows[0]?.value ?? 0)
}

/** Who has reported within so many seconds, and was playing then. */
export async function readLive(
  db: Db<Tables>,
  { environment, filterBy, period: { from } }: Sessions,
  isUnique: boolean,
): Promise<number> {
  const { rows } = await sql<{ value: number }>`
    select count(${isUnique ? sql`distinct viewer` : sql`*`}) as value from viewing_sessions
    where ${fits(environment, filterBy)} and playing_since is not null and seen_at >= ${from}
      and loaded_at >= ${from}::timestamptz - ${longestSession}`.execute(db)
  return Number(rows[0]?.value ?? 0)
}

/** Also by sessions that are no longer kept. */
const everPlayed = sql`
  select environment, media_id, media_type, plays from viewing_sessions
  union all select environment, media_id, media_type, plays from past_plays`

export async function readTotal(
  db: Db<Tables>,
  environment: Environment,
  filterBy: FilterBy,
): Promise<number> {
  const { rows } = await sql<{ value: number }>`
    select sum(plays) as value from (${everPlayed}) as played where ${fits(environment, filterBy)}`.execute(
    db,
  )
  return Number(rows[0]?.value ?? 0)
}

export type Bucket = { dimension: string; value: number }

/** Buckets in which nothing was counted are none, except for rates, which may well be 0. */
export function readBuckets(
  db: Db<Tables>,
  sessions: Sessions,
  measure: Measure,
  breakdown: Breakdown,
  order: Order,
  page: Page,
) {
  const found = measured(sessions, measure, dimensions[breakdown])
  const isRate = 'by' in measure && measure.by === 'rate'
  const groups = isRate ? found : sql<Row>`select * from (${found}) as m where value > 0`
  return readGroups<string>(db, groups, order, page)
}

export function readTotals(
  db: Db<Tables>,
  environment: Environment,
  filterBy: FilterBy,
  order: Order,
  page: Page,
) {
  const groups = sql<Row>`
    select media_id as dimension, sum(plays) as value from (${everPlayed}) as played
    where ${fits(environment, filterBy)} group by 1 having sum(plays) > 0`
  return readGroups<string>(db, groups, order, page)
}

/** Every interval of the period, those in which nothing happened included. */
export function readSeries(
  db: Db<Tables>,
  sessions: Sessions,
  measure: Measure,
  interval: Interval,
  order: Order,
  page: Page,
) {
  const { from, to } = sessions.period
  const step = sql`${`1 ${interval}`}::interval`
  // In UTC every day has 24 hours, so that counting from any midnight does; date_trunc takes twice as long.
  const start = (of: RawBuilder<unknown>) => sql`date_bin(${step}, ${of}, timestamptz '2000-01-01T00:00:00Z')`
  const found =
    measure.of === 'ccv'
      ? concurrentByInterval(sessions, measure, start, step)
      : measured(sessions, measure, start(sql`loaded_at`))
  // An interval ends before the next begins: the moment `to` is no part of the period.
  const groups = sql<Row>`
    select at as dimension, coalesce(value, 0) as value
    from generate_series(${start(sql`${from}::timestamptz`)}, ${to}::timestamptz - interval '1 millisecond', ${step})
         as at
    left join (${found}) as m on m.dimension = at`
  return readGroups<Date>(db, groups, order, page)
}

/** Each stay is cut where an interval ends, so that every interval is walked through by itself. */
function concurrentByInterval(
  sessions: Sessions,
  measure: Extract<Measure, { of: 'ccv' }>,
  start: (of: RawBuilder<unknown>) => RawBuilder<unknown>,
  step: RawBuilder<unknown>,
): RawBuilder<Row> {
  const { from, to } = sessions.period
  const cut = sql`
    select at as dimension, greatest(began, at) as began, least(ended, at + ${step}) as ended
    from (${watching(sessions, measure.isUnique, all)}) as stays,
         generate_series(${start(sql`began`)}, ended, ${step}) as at`
  if (measure.by === 'peak') return concurrent(cut, 'peak', sessions.period)
  return sql`
    select dimension, sum(extract(epoch from ended - began))::float8
           / greatest(1, extract(epoch from
               least(dimension + ${step}, ${to}, now()) - greatest(dimension, ${from})))::float8 as value
    from (${cut}) as c group by dimension`
}

async function readGroups<D>(
  db: Db<Tables>,
  groups: RawBuilder<Row>,
  { by, order }: Order,
  page: Page,
): Promise<{ groups: { dimension: D; value: number }[]; total: number }> {
  const direction = sql.raw(order)
  // Of equal values the first by name come first, in either direction.
  const place = by === 'value' ? sql`value ${direction}, dimension` : sql`dimension ${direction}`
  const { rows } = await sql<{ dimension: D | null; value: number; total: number }>`
    with groups as materialized (${groups})
    select total, dimension, value
    from (select count(*) as total from groups) as counted
    left join lateral (
      select * from groups order by ${place} limit ${page.pageSize} offset ${page.offset}
    ) as page on true
    order by ${place}`.execute(db)
  // A page without groups has one row, which tells the total alone.
  return {
    groups: rows.flatMap(({ dimension, value }) =>
      dimension === null ? [] : [{ dimension, value: Number(value) }],
    ),
    total: Number(rows[0]?.total ?? 0),
  }
}
