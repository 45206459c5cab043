import { oneOf, ref, text } from '../lib/http.ts'
import { Pagination } from '../lib/paging.ts'
import { type Static, Type } from '../lib/schema.ts'

/** What can be counted, and how. */
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
    deviceType: list(100, 'Such as `computer`, `phone` or `tablet`.'),
    operatingSystem: list(100, 'Such as `windows` or `android`.'),
    browser: list(100, 'Such as `firefox`.'),
    tag: Type.Optional(text(255, { minLength: 1, description: 'Videos that have this tag.' })),
    referrer: list(2_048, 'The whole address of the page; empty for sessions without one.', 0),
  },
  {
    additionalProperties: false,
    description: 'Only sessions that are so: `filterBy[country]=FR`, `filterBy[browser][]=firefox`.',
  },
)
export type FilterBy = Static<typeof FilterBy>

export const time = (description: string) => Type.Optional(text(40, { format: 'date-time', description }))

/** What all three reads take. */
export const dataQuery = {
  from: time('Sessions that were loaded at this time or later; by default one day before `to`.'),
  to: time('Sessions that were loaded before this time; by default now.'),
  unique: Type.Optional(
    Type.Boolean({ description: 'Count a viewer once a day. Only with views and concurrent viewers.' }),
  ),
  viewDuration: Type.Optional(
    oneOf(viewDurations, { default: '5s', description: 'What a view lasts at least. Only with views.' }),
  ),
  filterBy: Type.Optional(FilterBy),
}

export const sortOrder = Type.Optional(oneOf(['asc', 'desc']))

const timeframe = Type.Object(
  {
    from: Type.Optional(Type.String({ format: 'date-time' })),
    to: Type.Optional(Type.String({ format: 'date-time' })),
  },
  { description: 'Empty for what is counted over all time.' },
)

const metricName = Type.String({ description: 'With what it was asked for: `unique-view-5`.' })

// The typed clients know these words in an answer, though they ask by more, and fail on any other.
const answeredAggregations = ['count', 'rate', 'total', 'average', 'sum'] as const
const answeredBreakdowns = [
  'media-id',
  'media-type',
  'continent',
  'country',
  'device-type',
  'operating-system',
  'browser',
] as const

const answered =
  <T extends string>(words: readonly T[]) =>
  (word: string): T | undefined =>
    words.find((each) => each === word)

export const answeredAggregation = answered(answeredAggregations)
export const answeredBreakdown = answered(answeredBreakdowns)

export const AggregatedMetric = Type.Object(
  {
    context: Type.Object({
      metric: metricName,
      aggregation: Type.Optional(
        oneOf(answeredAggregations, { description: 'Absent for `peak` and `live`.' }),
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
      breakdown: Type.Optional(oneOf(answeredBreakdowns, { description: 'Absent for `referrer`.' })),
      timeframe,
    }),
    data: Type.Array(
      Type.Object({
        metricValue: Type.Number(),
        dimensionValue: Type.String({ description: '`unknown` where it is not known.' }),
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
        emittedAt: Type.String({ format: 'date-time', description: 'When the interval begins.' }),
        metricValue: Type.Number(),
      }),
    ),
    pagination: ref(Pagination),
  },
  { $id: 'MetricSeries' },
)
