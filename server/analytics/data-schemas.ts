import { oneOf, ref, text } from '../lib/http.ts'
import { Pagination } from '../lib/paging.ts'
import { type Static, Type } from '../lib/schema.ts'

/** The aggregations that each metric supports. */
export const aggregationsOf = {
  play: ['count', 'rate', 'total', 'sum'],
  start: ['count'],
  end: ['count'],
  impression: ['count'],
  'impression-time': ['average', 'sum'],
  'watch-time': ['average', 'sum'],
  ccv: ['peak', 'live', 'average'],
  view: ['count'],
} as const satisfies Record<string, readonly string[]>

export type Metric = keyof typeof aggregationsOf
export const metrics = Object.keys(aggregationsOf) as Metric[]
export const aggregations = ['count', 'rate', 'total', 'average', 'sum', 'peak', 'live'] as const
export type Aggregation = (typeof aggregations)[number]

export const timeMetrics = [
  'play',
  'play-rate',
  'start',
  'end',
  'impression',
  'ccv-peak',
  'ccv-average',
  'view',
] as const
export const bucketMetrics = [...timeMetrics, 'play-total'] as const

export const breakdowns = [
  'media-id',
  'media-type',
  'continent',
  'country',
  'device-type',
  'operating-system',
  'browser',
  'referrer',
] as const
export type Breakdown = (typeof breakdowns)[number]

export const intervals = ['minute', 'hour', 'day'] as const
export type Interval = (typeof intervals)[number]

export const viewDurations = ['3s', '5s', '10s', '30s'] as const

const continents = ['AF', 'AN', 'AS', 'AZ', 'EU', 'NA', 'SA', 'unknown'] as const

const list = (maxLength: number, description: string, minLength = 1) =>
  Type.Optional(Type.Array(text(maxLength, { minLength }), { maxItems: 100, description }))

export const FilterBy = Type.Object(
  {
    mediaId: list(100, 'Ids of videos and live streams.'),
    mediaType: Type.Optional(oneOf(['video', 'live-stream'])),
    continent: Type.Optional(Type.Array(oneOf(continents), { maxItems: 100, description: 'AZ is Oceania.' })),
    country: list(20, 'ISO 3166 codes such as `FR`, or `unknown`.'),
    deviceType: list(100, 'Device types such as `computer`, `phone` or `tablet`.'),
    operatingSystem: list(100, 'Operating systems such as `windows` or `android`.'),
    browser: list(100, 'Browsers such as `firefox`.'),
    tag: Type.Optional(text(255, { minLength: 1, description: 'Videos with this tag.' })),
    referrer: list(2_048, 'The complete URL of the referring page; empty for sessions without one.', 0),
  },
  {
    additionalProperties: false,
    description:
      'Only sessions that match all filters, such as `filterBy[country]=FR` or `filterBy[browser][]=firefox`.',
  },
)
export type FilterBy = Static<typeof FilterBy>

export const time = (description: string) => Type.Optional(text(40, { format: 'date-time', description }))

/** The query parameters of all three data routes. */
export const dataQuery = {
  from: time('Sessions loaded at this time or later; by default one day before `to`.'),
  to: time('Sessions loaded before this time; by default now.'),
  unique: Type.Optional(
    Type.Boolean({ description: 'Count each viewer once a day. Only for views and concurrent viewers.' }),
  ),
  viewDuration: Type.Optional(
    oneOf(viewDurations, { default: '5s', description: 'Minimum duration of a view. Only for views.' }),
  ),
  filterBy: Type.Optional(FilterBy),
}

export const sortOrder = Type.Optional(oneOf(['asc', 'desc']))

const timeframe = Type.Object(
  {
    from: Type.Optional(Type.String({ format: 'date-time' })),
    to: Type.Optional(Type.String({ format: 'date-time' })),
  },
  { description: 'Empty for totals over all time.' },
)

const metricName = Type.String({ description: 'Metric with its parameters, such as `unique-view-5`.' })

// Typed clients accept only these values in a response and fail on others, although requests allow more.
const responseAggregations = ['count', 'rate', 'total', 'average', 'sum'] as const
const responseBreakdowns = [
  'media-id',
  'media-type',
  'continent',
  'country',
  'device-type',
  'operating-system',
  'browser',
] as const

const keepKnown =
  <T extends string>(values: readonly T[]) =>
  (value: string): T | undefined =>
    values.find((known) => known === value)

export const responseAggregation = keepKnown(responseAggregations)
export const responseBreakdown = keepKnown(responseBreakdowns)

export const AggregatedMetric = Type.Object(
  {
    context: Type.Object({
      metric: metricName,
      aggregation: Type.Optional(
        oneOf(responseAggregations, { description: 'Absent for `peak` and `live`.' }),
      ),
      timeframe,
    }),
    data: Type.Number(),
  },
  { $id: 'AggregatedMetric' },
)

export const MetricBuckets = Type.Object(
  {
    context: Type.Object({
      metric: metricName,
      breakdown: Type.Optional(oneOf(responseBreakdowns, { description: 'Absent for `referrer`.' })),
      timeframe,
    }),
    data: Type.Array(
      Type.Object({
        metricValue: Type.Number(),
        dimensionValue: Type.String({ description: '`unknown` if it is not known.' }),
      }),
    ),
    pagination: ref(Pagination),
  },
  { $id: 'MetricBuckets' },
)

export const MetricSeries = Type.Object(
  {
    context: Type.Object({ metric: metricName, interval: oneOf(intervals), timeframe }),
    data: Type.Array(
      Type.Object({
        emittedAt: Type.String({ format: 'date-time', description: 'Start of the interval.' }),
        metricValue: Type.Number(),
      }),
    ),
    pagination: ref(Pagination),
  },
  { $id: 'MetricSeries' },
)
