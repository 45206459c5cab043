import { type RawBuilder, sql } from 'kysely'
import type { Environment } from '../environments.ts'
import type { Db } from '../lib/db.ts'
import type { Page } from '../lib/paging.ts'
import type { Tables } from '../tables.ts'
import { tagTerms } from '../videos/store.ts'
import type { Measure, Period } from './data-query.ts'
import type { Breakdown, FilterBy, Interval } from './data-schemas.ts'

// A row of viewing_sessions holds the totals of one session. Each query here scans the rows of its period once, and
// Postgres skips the partitions of other days.

export type Sessions = { environment: Environment; period: Period; filterBy: FilterBy }
export type Paged = { order: Order; page: Page }
export type Order = { by: 'dimension' | 'value'; order: 'asc' | 'desc' }

/** The longest session that is considered. A session counts as watching from its first play to its last report. */
const maxSessionLength = sql`interval '1 day'`

/** Unknown values appear as `unknown`, and can be filtered by that name. */
const orUnknown = (column: string) => sql<string>`coalesce(${sql.ref(column)}, 'unknown')`
const lowerCase = (column: string) => sql<string>`lower(${orUnknown(column)})`
const renamed = (column: string, [ours, theirs]: readonly [string, string]) =>
  sql<string>`case when ${sql.ref(column)} = ${ours} then ${theirs} else ${lowerCase(column)} end`

/** Names for which existing clients use another word than the User-Agent parser. */
const macOs = ['macOS', 'mac osx'] as const
const edge = ['Microsoft Edge', 'edge'] as const

const dimensions: Record<Breakdown, RawBuilder<string>> = {
  'media-id': sql`media_id`,
  'media-type': sql`media_type`,
  continent: orUnknown('continent'),
  country: orUnknown('country'),
  'device-type': lowerCase('device_type'),
  'operating-system': renamed('os_name', macOs),
  browser: renamed('browser_name', edge),
  referrer: sql`referrer`,
  // With its port, and without a user name. Empty for sessions without a referrer.
  'referrer-host': sql`lower(coalesce(substring(referrer from '^[^:/?#]+://(?:[^/?#]*@)?([^/?#]*)'), ''))`,
}

const all = sql<string>`''::text`

const isOneOf = (column: RawBuilder<string>, values: string[] | undefined) =>
  values && sql<boolean>`${column} = any(${values}::text[])`

const lower = (values: string[] | undefined) => values?.map((value) => value.toLowerCase())
const code = (values: string[] | undefined) =>
  values?.map((value) => (value.toLowerCase() === 'unknown' ? 'unknown' : value.toUpperCase()))

function matches(environment: Environment, filterBy: FilterBy): RawBuilder<boolean> {
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
    // With discarded videos, whose sessions the other filters also count.
    tag !== undefined &&
      sql<boolean>`media_id in (
        select id from all_videos
        where environment = ${environment} and tag_terms @> ${tagTerms(environment, [tag])}::uuid[])`,
  ]
  return sql.join(
    conditions.filter((condition) => !!condition),
    sql` and `,
  )
}

const within = ({ from, to }: Period) => sql<boolean>`loaded_at >= ${from} and loaded_at < ${to}`

/** The SQL aggregate that computes a measure from a group of sessions. */
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
      // Sessions without a play do not lower the average.
      return isAverage
        ? sql`avg(watch_seconds) filter (where first_played_at is not null)`
        : sql`sum(watch_seconds)`
  }
}

/** A query that returns rows of `dimension` and `value`. */
function measureBy(sessions: Sessions, measure: Measure, dimension: RawBuilder<unknown>): RawBuilder<Row> {
  const { environment, filterBy, period } = sessions
  if (measure.of === 'ccv')
    return concurrent(watchIntervals(sessions, measure.isUnique, dimension), measure.by, period)
  return sql`
    select ${dimension} as dimension, ${aggregate(measure)} as value from viewing_sessions
    where ${matches(environment, filterBy)} and ${within(period)} group by 1`
}

type Row = { dimension: unknown; value: number }

/** A query that returns the intervals in which each session, or each viewer, watched within the period. */
function watchIntervals(
  { environment, filterBy, period: { from, to } }: Sessions,
  isUnique: boolean,
  dimension: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const sessions = sql`
    select ${dimension} as dimension, viewer, greatest(first_played_at, ${from}) as began,
           least(greatest(seen_at, first_played_at), ${to}) as ended
    from viewing_sessions
    where ${matches(environment, filterBy)} and first_played_at < ${to} and seen_at >= ${from}
      and loaded_at >= ${from}::timestamptz - ${maxSessionLength} and loaded_at < ${to}`
  if (!isUnique) return sessions
  return sql`
    select dimension, lower(period) as began, upper(period) as ended from (
      select dimension, range_agg(tstzrange(began, ended, '[]')) as periods
      from (${sessions}) as s group by dimension, viewer
    ) as v, unnest(periods) as period`
}

/**
 * The number of concurrent viewers. The peak is the maximum of a running sum over all starts (+1) and ends (-1) in
 * order of time. At equal times starts come first, so that both viewers count.
 */
function concurrent(
  intervals: RawBuilder<unknown>,
  by: 'peak' | 'average',
  { from, to }: Period,
): RawBuilder<Row> {
  if (by === 'average') {
    return sql`
      select dimension, sum(extract(epoch from ended - began))::float8
             / greatest(1, extract(epoch from least(${to}, now()) - ${from}::timestamptz))::float8 as value
      from (${intervals}) as w group by dimension`
  }
  return sql`
    select dimension, max(watching) as value from (
      select dimension, sum(change) over (partition by dimension order by at, change desc rows unbounded preceding)
             as watching
      from (${intervals}) as w, lateral (values (began, 1), (ended, -1)) as edge (at, change)
    ) as running group by dimension`
}

export async function readMetric(db: Db<Tables>, sessions: Sessions, measure: Measure): Promise<number> {
  const { rows } = await measureBy(sessions, measure, all).execute(db)
  return Number(rows[0]?.value ?? 0)
}

/** The number of viewers whose last report is recent and said that the video was playing. */
export async function readLive(
  db: Db<Tables>,
  { environment, filterBy, period: { from } }: Sessions,
  isUnique: boolean,
): Promise<number> {
  const { rows } = await sql<{ value: number }>`
    select count(${isUnique ? sql`distinct viewer` : sql`*`}) as value from viewing_sessions
    where ${matches(environment, filterBy)} and playing_since is not null and seen_at >= ${from}
      and loaded_at >= ${from}::timestamptz - ${maxSessionLength}`.execute(db)
  return Number(rows[0]?.value ?? 0)
}

/** Who watches now, in both environments. */
export async function readAllLive(
  db: Db<Tables>,
  withinMs: number,
): Promise<Record<'video' | 'live-stream', number>> {
  const { rows } = await sql<{ media: 'video' | 'live-stream'; viewers: number }>`
    select media_type as media, count(*) as viewers from viewing_sessions
    where playing_since is not null and seen_at >= now() - ${withinMs} * interval '1 millisecond'
      and loaded_at >= now() - ${maxSessionLength} group by 1`.execute(db)
  return {
    video: 0,
    'live-stream': 0,
    ...Object.fromEntries(rows.map(({ media, viewers }) => [media, viewers])),
  }
}

/** Includes the plays of expired sessions. */
const allPlays = sql`
  select environment, media_id, media_type, plays from viewing_sessions
  union all select environment, media_id, media_type, plays from past_plays`

export async function readTotal(
  db: Db<Tables>,
  environment: Environment,
  filterBy: FilterBy,
): Promise<number> {
  const { rows } = await sql<{ value: number }>`
    select sum(plays) as value from (${allPlays}) as played where ${matches(environment, filterBy)}`.execute(
    db,
  )
  return Number(rows[0]?.value ?? 0)
}

/** Leaves out empty buckets, except for rates, where 0 is a regular value. */
export function readBuckets(
  db: Db<Tables>,
  sessions: Sessions,
  measure: Measure,
  { breakdown, order, page }: Paged & { breakdown: Breakdown },
) {
  const found = measureBy(sessions, measure, dimensions[breakdown])
  const isRate = 'by' in measure && measure.by === 'rate'
  const groups = isRate ? found : sql<Row>`select * from (${found}) as m where value > 0`
  return readGroups<string>(db, groups, { order, page })
}

export function readTotals(
  db: Db<Tables>,
  environment: Environment,
  filterBy: FilterBy,
  { order, page }: Paged,
) {
  const groups = sql<Row>`
    select media_id as dimension, sum(plays) as value from (${allPlays}) as played
    where ${matches(environment, filterBy)} group by 1 having sum(plays) > 0`
  return readGroups<string>(db, groups, { order, page })
}

/** Returns every interval of the period, including empty ones. */
export function readSeries(
  db: Db<Tables>,
  sessions: Sessions,
  measure: Measure,
  { interval, order, page }: Paged & { interval: Interval },
) {
  const { from, to } = sessions.period
  const step = sql`${`1 ${interval}`}::interval`
  // Every UTC day has 24 hours, so intervals can be counted from any midnight. date_trunc takes twice as long.
  const start = (of: RawBuilder<unknown>) => sql`date_bin(${step}, ${of}, timestamptz '2000-01-01T00:00:00Z')`
  const found =
    measure.of === 'ccv'
      ? concurrentByInterval(sessions, measure, start, step)
      : measureBy(sessions, measure, start(sql`loaded_at`))
  // The period does not include `to`.
  const groups = sql<Row>`
    select at as dimension, coalesce(value, 0) as value
    from generate_series(${start(sql`${from}::timestamptz`)}, ${to}::timestamptz - interval '1 millisecond', ${step})
         as at
    left join (${found}) as m on m.dimension = at`
  return readGroups<Date>(db, groups, { order, page })
}

/** Splits each watch interval at the interval boundaries, so that each interval is counted on its own. */
function concurrentByInterval(
  sessions: Sessions,
  measure: Extract<Measure, { of: 'ccv' }>,
  start: (of: RawBuilder<unknown>) => RawBuilder<unknown>,
  step: RawBuilder<unknown>,
): RawBuilder<Row> {
  const { from, to } = sessions.period
  const cut = sql`
    select at as dimension, greatest(began, at) as began, least(ended, at + ${step}) as ended
    from (${watchIntervals(sessions, measure.isUnique, all)}) as intervals,
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
  { order, page }: Paged,
): Promise<{ groups: { dimension: D; value: number }[]; total: number }> {
  const direction = sql.raw(order.order)
  // Equal values are sorted by name, in both directions.
  const sorting = order.by === 'value' ? sql`value ${direction}, dimension` : sql`dimension ${direction}`
  const { rows } = await sql<{ dimension: D | null; value: number; total: number }>`
    with groups as materialized (${groups})
    select total, dimension, value
    from (select count(*) as total from groups) as counted
    left join lateral (
      select * from groups order by ${sorting} limit ${page.pageSize} offset ${page.offset}
    ) as page on true
    order by ${sorting}`.execute(db)
  // An empty page has one row, which contains only the total.
  return {
    groups: rows.flatMap(({ dimension, value }) =>
      dimension === null ? [] : [{ dimension, value: Number(value) }],
    ),
    total: Number(rows[0]?.total ?? 0),
  }
}
