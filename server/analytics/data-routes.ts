import type { Context } from '../contracts/context.ts'
import { ApiError } from '../lib/errors.ts'
import { type App, oneOf, ref } from '../lib/http.ts'
import { listResponse, pageQuery, readPage } from '../lib/paging.ts'
import { Type } from '../lib/schema.ts'
import { atom } from '../lib/time.ts'
import { compileValidator } from '../lib/validation.ts'
import {
  badPair,
  checkTotal,
  type DataQuery,
  flatFilters,
  metricName,
  readInterval,
  readMeasure,
  readPeriod,
  viewPeriod,
  withDetail,
} from './data-query.ts'
import {
  AggregatedMetric,
  aggregations,
  aggregationsOf,
  answeredAggregation,
  answeredBreakdown,
  breakdowns,
  bucketMetrics,
  dataQuery,
  intervals,
  type Metric,
  MetricBuckets,
  MetricSeries,
  metrics,
  sortOrder,
  timeMetrics,
} from './data-schemas.ts'
import * as store from './data-store.ts'
import type { Read } from './query-limits.ts'

const liveMs = 20_000

/** A word in the path that names nothing is part of an address that there is not. */
function validatorCompiler(route: { schema: unknown; httpPart?: string }) {
  const check = compileValidator(route)
  return (data: unknown) => {
    const result = check(data)
    if (!('error' in result)) return result
    const isPath = route.httpPart === 'params'
    return { error: isPath ? new ApiError('unrecognized-request-url') : withDetail(result.error) }
  }
}

/** Some metrics carry how they are counted in their name. */
function splitMetric(name: (typeof bucketMetrics)[number]): [metric: Metric, aggregation: string] {
  const [metric, aggregation = 'count'] = name.split('-')
  return [metric as Metric, aggregation]
}

/** How much was watched, by the published names. */
export function dataRoutes(app: App, { config, now }: Context, read: Read): void {
  const compiled = { validatorCompiler: validatorCompiler as never }

  const readSessions = (query: DataQuery, environment: store.Sessions['environment']) => ({
    environment,
    period: readPeriod(query, now(), { days: 1, keptDays: config.analyticsDays }),
    filterBy: query.filterBy ?? {},
  })

  app.get(
    '/data/metrics/:metric/:aggregation',
    {
      ...compiled,
      schema: {
        operationId: 'GET_aggregated-metrics',
        tags: ['Analytics'],
        summary: 'Show a metric as one number',
        description:
          'A session counts at the time at which it was loaded. Of each metric: `play` count, rate (plays per impression), total (over all time); `start`, `end`, `impression` and `view` count; `impression-time` (ms) and `watch-time` (s) average, sum; `ccv` (concurrent viewers) peak, average, live (of the last 20 seconds).',
        params: Type.Object({ metric: oneOf(metrics), aggregation: oneOf(aggregations) }),
        querystring: Type.Object(dataQuery),
        response: { 200: ref(AggregatedMetric) },
      },
    },
    async ({ params: { metric, aggregation }, query, scope }) => {
      if (!(aggregationsOf[metric] as readonly string[]).includes(aggregation)) {
        const title = `The aggregations of ${metric} are: ${aggregationsOf[metric].join(', ')}.`
        throw badPair('aggregation', title)
      }
      const measure = readMeasure(metric, aggregation, query)
      const view = (timeframe: { from?: string; to?: string }, data: number) => ({
        context: {
          metric: metricName(metric, measure),
          aggregation: answeredAggregation(aggregation),
          timeframe,
        },
        data,
      })
      if (aggregation === 'total') {
        checkTotal(query)
        const { filterBy = {} } = query
        const total = await read((trx) => store.readTotal(trx, scope.environment, filterBy))
        return view({}, total)
      }
      if (aggregation === 'live' && measure.of === 'ccv') {
        const to = now()
        const period = { from: new Date(to.getTime() - liveMs), to }
        const sessions = { environment: scope.environment, period, filterBy: query.filterBy ?? {} }
        const live = await read((trx) => store.readLive(trx, sessions, measure.isUnique))
        return view(viewPeriod(period), live)
      }
      const sessions = readSessions(query, scope.environment)
      const data = await read((trx) => store.readMetric(trx, sessions, measure))
      return view(viewPeriod(sessions.period), data)
    },
  )

  app.get(
    '/data/buckets/:metric/:breakdown',
    {
      ...compiled,
      schema: {
        operationId: 'GET_metrics-breakdown',
        tags: ['Analytics'],
        summary: 'Break a metric down',
        description: '`play-total` (over all time) goes only with `media-id`.',
        params: Type.Object({ metric: oneOf(bucketMetrics), breakdown: oneOf(breakdowns) }),
        querystring: Type.Object({
          ...dataQuery,
          sortBy: Type.Optional(oneOf(['metricValue', 'dimensionValue'], { default: 'metricValue' })),
          sortOrder,
          ...pageQuery,
        }),
        response: { 200: ref(MetricBuckets) },
      },
    },
    async ({ params, query, scope }) => {
      const { breakdown } = params
      const [metric, aggregation] = splitMetric(params.metric)
      const measure = readMeasure(metric, aggregation, query)
      const isByName = query.sortBy === 'dimensionValue'
      const order: store.Order = {
        by: isByName ? 'dimension' : 'value',
        order: query.sortOrder ?? (isByName ? 'asc' : 'desc'),
      }
      const page = readPage(query)
      const isTotal = params.metric === 'play-total'
      if (isTotal && breakdown !== 'media-id') {
        throw badPair('breakdown', 'Total plays are broken down by media-id only.')
      }
      if (isTotal) checkTotal(query)
      const sessions = isTotal ? undefined : readSessions(query, scope.environment)
      const { groups, total } = await read((trx) =>
        sessions
          ? store.readBuckets(trx, sessions, measure, breakdown, order, page)
          : store.readTotals(trx, scope.environment, query.filterBy ?? {}, order, page),
      )
      const items = groups.map(({ dimension, value }) => ({ metricValue: value, dimensionValue: dimension }))
      return {
        context: {
          // Total plays have no word of their own in the answer; that the timeframe is empty tells them apart.
          metric: metricName(isTotal ? metric : params.metric, measure),
          breakdown: answeredBreakdown(breakdown),
          timeframe: sessions ? viewPeriod(sessions.period) : {},
        },
        ...listResponse(
          `/data/buckets/${params.metric}/${breakdown}`,
          flatFilters(query),
          page,
          items,
          total,
        ),
      }
    },
  )

  app.get(
    '/data/timeseries/:metric',
    {
      ...compiled,
      schema: {
        operationId: 'GET_metrics-over-time',
        tags: ['Analytics'],
        summary: 'Show a metric over time',
        description: 'Every interval of the period has its value, 0 included.',
        params: Type.Object({ metric: oneOf(timeMetrics) }),
        querystring: Type.Object({
          ...dataQuery,
          interval: Type.Optional(
            oneOf(intervals, {
              description:
                'By default `hour` for up to two days, else `day`. `minute` is for less than 60 minutes.',
            }),
          ),
          sortBy: Type.Optional(oneOf(['metricValue', 'emittedAt'], { default: 'emittedAt' })),
          sortOrder,
          ...pageQuery,
        }),
        response: { 200: ref(MetricSeries) },
      },
    },
    async ({ params, query, scope }) => {
      const [metric, aggregation] = splitMetric(params.metric)
      const measure = readMeasure(metric, aggregation, query)
      const sessions = readSessions(query, scope.environment)
      const interval = readInterval(query.interval, sessions.period)
      const isByValue = query.sortBy === 'metricValue'
      const order: store.Order = {
        by: isByValue ? 'value' : 'dimension',
        order: query.sortOrder ?? (isByValue ? 'desc' : 'asc'),
      }
      const page = readPage(query)
      const { groups, total } = await read((trx) =>
        store.readSeries(trx, sessions, measure, interval, order, page),
      )
      const items = groups.map(({ dimension, value }) => ({ emittedAt: atom(dimension), metricValue: value }))
      return {
        context: {
          metric: metricName(params.metric, measure),
          interval,
          timeframe: viewPeriod(sessions.period),
        },
        ...listResponse(`/data/timeseries/${params.metric}`, flatFilters(query), page, items, total),
      }
    },
  )
}
