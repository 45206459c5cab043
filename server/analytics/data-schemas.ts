import { exampleId, timeField, timeInput } from '../lib/fields.ts'
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

export const timeMetrics = [
  'play',
  'play-rate',
  'start',
  'end',
  'impression',
  'ccv-peak',
  'ccv-average',
  'view',
  'watch-time',
  'watch-time-average',
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
  'referrer-host',
] as const
export type Breakdown = (typeof breakdowns)[number]

export const intervals = ['minute', 'hour', 'day'] as const
export type Interval = (typeof intervals)[number]

export const viewDurations = ['3s', '5s', '10s', '30s'] as const

const continents = ['AF', 'AN', 'AS', 'AZ', 'EU', 'NA', 'SA', 'unknown'] as const

const list = (maxLength: number, description: string, example: string, minLength = 1) =>
  Type.Optional(
    Type.Array(text(maxLength, { minLength }), { maxItems: 100, description, examples: [[example]] }),
  )

export const FilterBy = Type.Object(
  {
    mediaId: list(100, 'Ids of videos and live streams.', exampleId('vi')),
    mediaType: Type.Optional(
      oneOf(['video', 'live-stream'], { description: 'Only this type of media.', examples: ['video'] }),
    ),
    continent: Type.Optional(
      Type.Array(oneOf(continents), {
        maxItems: 100,
        description: 'Codes of continents. `AZ` is Oceania.',
        examples: [['EU']],
      }),
    ),
    country: list(20, 'ISO 3166 codes such as `FR`, or `unknown`.', 'FR'),
    deviceType: list(100, 'Device types such as `computer`, `phone` or `tablet`.', 'phone'),
    operatingSystem: list(100, 'Operating systems such as `windows` or `android`.', 'android'),
    browser: list(100, 'Browsers such as `firefox`.', 'firefox'),
    tag: Type.Optional(
      text(255, { minLength: 1, description: 'Videos with this tag.', examples: ['tutorial'] }),
    ),
    referrer: list(
      2_048,
      'The complete URL of the referring page; empty for sessions without one.',
      'https://school.example/',
      0,
    ),
  },
  {
    additionalProperties: false,
    description:
      'Only sessions that match all filters, such as `filterBy[country]=FR` or `filterBy[browser][]=firefox`.',
    examples: [{ country: ['FR'] }],
  },
)
export type FilterBy = Static<typeof FilterBy>

export const time = (description: string) => Type.Optional(timeInput(description))

/** The query parameters of lists of sessions. */
export const periodQuery = {
  from: time('Sessions loaded at this time or later; by default 30 days before `to`.'),
  to: time('Sessions loaded before this time; by default now.'),
}

/** The query parameters of all three data routes. */
export const dataQuery = {
  from: time('Sessions loaded at this time or later; by default one day before `to`.'),
  to: time('Sessions loaded before this time; by default now.'),
  unique: Type.Optional(
    Type.Boolean({
      description: 'Count each viewer once a day. Only for views and concurrent viewers.',
      examples: [true],
    }),
  ),
  viewDuration: Type.Optional(
    oneOf(viewDurations, { default: '5s', description: 'Minimum duration of a view. Only for views.' }),
  ),
  filterBy: Type.Optional(FilterBy),
}

export const sortOrder = Type.Optional(
  oneOf(['asc', 'desc'], {
    description: 'By default numbers start with the largest, and names and times with the smallest.',
    examples: ['desc'],
  }),
)

const timeframe = Type.Object(
  {
    from: Type.Optional(timeField('Start of the period.', '2026-11-15T09:30:00+00:00')),
    to: Type.Optional(timeField('End of the period, not included.')),
  },
  { description: 'The period. Empty for totals over all time.' },
)

const metricName = Type.String({
  description: 'Metric with its parameters, such as `unique-view-5`.',
  examples: ['play'],
})
const metricValue = Type.Number({ description: 'Value of the metric.', examples: [42] })
const context = { description: 'What was asked for.' }

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
    context: Type.Object(
      {
        metric: metricName,
        aggregation: Type.Optional(
          oneOf(responseAggregations, {
            description: 'How the values are combined. Absent for `peak` and `live`.',
            examples: ['count'],
          }),
        ),
        timeframe,
      },
      context,
    ),
    data: metricValue,
  },
  { $id: 'AggregatedMetric', description: 'A metric as one number.' },
)

export const MetricBuckets = Type.Object(
  {
    context: Type.Object(
      {
        metric: metricName,
        breakdown: Type.Optional(
          oneOf(responseBreakdowns, {
            description: 'The dimension. Absent for `referrer` and `referrer-host`.',
            examples: ['country'],
          }),
        ),
        timeframe,
      },
      context,
    ),
    data: Type.Array(
      Type.Object({
        metricValue,
        dimensionValue: Type.String({
          description: 'Such as a country. `unknown` if it is not known.',
          examples: ['FR'],
        }),
      }),
      { description: 'The values of this page.' },
    ),
    pagination: ref(Pagination),
  },
  { $id: 'MetricBuckets', description: 'A metric for each value of a dimension.' },
)

export const MetricSeries = Type.Object(
  {
    context: Type.Object(
      {
        metric: metricName,
        interval: oneOf(intervals, { description: 'Length of an interval.', examples: ['hour'] }),
        timeframe,
      },
      context,
    ),
    data: Type.Array(
      Type.Object({
        emittedAt: timeField('Start of the interval.', '2026-11-16T09:00:00+00:00'),
        metricValue,
      }),
      { description: 'The intervals of this page.' },
    ),
    pagination: ref(Pagination),
  },
  { $id: 'MetricSeries', description: 'A metric for each interval of a period.' },
)
