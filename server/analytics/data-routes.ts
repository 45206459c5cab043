import type { FastifyRequest } from 'fastify'
import type { Context } from '../context.ts'
import type { Environment } from '../environments.ts'
import { ApiError, httpErrors } from '../lib/errors.ts'
import { sortByField } from '../lib/fields.ts'
import { type App, oneOf, ref } from '../lib/http.ts'
import { listResponse, pageQuery, readPage } from '../lib/paging.ts'
import { Type } from '../lib/schema.ts'
import { formatTime } from '../lib/time.ts'
import { compileValidator } from '../lib/validation.ts'
import {
  checkTotalFilters,
  type DataQuery,
  flatFilters,
  invalidCombination,
  type Measure,
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
  breakdowns,
  bucketMetrics,
  dataQuery,
  intervals,
  type Metric,
  MetricBuckets,
  MetricSeries,
  metrics,
  responseAggregation,
  responseBreakdown,
  sortOrder,
  timeMetrics,
} from './data-schemas.ts'
import * as store from './data-store.ts'
import { livePeriod } from './live-viewers.ts'

/** The published data API: metrics of sessions as a number, by dimension, and over time. */
export function dataRoutes(app: App, { config, now }: Context): void {
  const deps: Deps = {
    now,
    selectSessions: (environment, query) => ({
      environment,
      period: readPeriod(query, now(), { defaultDays: 1, keptDays: config.analyticsDays }),
      filterBy: query.filterBy ?? {},
    }),
  }
  metricRoute(app, deps)
  bucketsRoute(app, deps)
  timeSeriesRoute(app, deps)
}

type Deps = {
  now: () => Date
  selectSessions(environment: Environment, query: DataQuery): store.Sessions
}

function metricRoute(app: App, deps: Deps): void {
  app.get(
    '/data/metrics/:metric/:aggregation',
    {
      ...validation,
      schema: {
        operationId: 'GET_aggregated-metrics',
        tags: ['Analytics'],
        summary: 'Show a metric as one number',
        description:
          'Sessions count at the time they were loaded. Metrics and their aggregations: `play` count, rate (plays per impression), total (over all time); `start`, `end`, `impression` and `view` count; `impression-time` (ms) and `watch-time` (s) average, sum; `ccv` (concurrent viewers) peak, average, live (within the last 20 seconds).',
        params: Type.Object({
          metric: oneOf(metrics, { description: 'What is measured.', examples: ['play'] }),
          aggregation: oneOf(aggregations, {
            description: 'How the values are combined. Each metric supports some of them.',
            examples: ['count'],
          }),
        }),
        querystring: Type.Object(dataQuery),
        response: { 200: ref(AggregatedMetric) },
      },
    },
    async ({ params: { metric, aggregation }, query, read, scope }) => {
      const supported: readonly string[] = aggregationsOf[metric]
      if (!supported.includes(aggregation)) {
        const title = `The aggregations of ${metric} are: ${supported.join(', ')}.`
        throw invalidCombination('aggregation', title)
      }
      const measure = readMeasure(metric, aggregation, query)
      const { timeframe, data } = await readNumber(deps, read, scope.environment, {
        aggregation,
        measure,
        query,
      })
      return {
        context: {
          metric: metricName(metric, measure),
          aggregation: responseAggregation(aggregation),
          timeframe,
        },
        data,
      }
    },
  )
}

async function readNumber(
  { now, selectSessions }: Deps,
  read: FastifyRequest['read'],
  environment: Environment,
  { aggregation, measure, query }: { aggregation: string; measure: Measure; query: DataQuery },
): Promise<{ timeframe: { from?: string; to?: string }; data: number }> {
  const { filterBy = {} } = query
  if (aggregation === 'total') {
    checkTotalFilters(query)
    return { timeframe: {}, data: await read((db) => store.readTotal(db, environment, filterBy)) }
  }
  if (aggregation === 'live' && measure.of === 'ccv') {
    const period = livePeriod(now())
    const sessions = { environment, period, filterBy }
    const data = await read((db) => store.readLive(db, sessions, measure.isUnique))
    return { timeframe: viewPeriod(period), data }
  }
  const sessions = selectSessions(environment, query)
  const data = await read((db) => store.readMetric(db, sessions, measure))
  return { timeframe: viewPeriod(sessions.period), data }
}

function bucketsRoute(app: App, { selectSessions }: Deps): void {
  app.get(
    '/data/buckets/:metric/:breakdown',
    {
      ...validation,
      schema: {
        operationId: 'GET_metrics-breakdown',
        tags: ['Analytics'],
        summary: 'Break a metric down',
        description:
          '`play-total` (over all time) supports only `media-id`. `watch-time` is the sum in seconds.',
        params: Type.Object({
          metric: oneOf(bucketMetrics, { description: 'What is measured.', examples: ['play'] }),
          breakdown: oneOf(breakdowns, { description: 'The dimension.', examples: ['country'] }),
        }),
        querystring: Type.Object({
          ...dataQuery,
          sortBy: sortByField(['metricValue', 'dimensionValue'], 'metricValue'),
          sortOrder,
          ...pageQuery,
        }),
        response: { 200: ref(MetricBuckets) },
      },
    },
    async ({ params, query, read, scope }) => {
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
      if (isTotal) checkTotalBreakdown(breakdown, query)
      const sessions = isTotal ? undefined : selectSessions(scope.environment, query)
      const { groups, total } = await read((db) =>
        sessions
          ? store.readBuckets(db, sessions, measure, { breakdown, order, page })
          : store.readTotals(db, scope.environment, query.filterBy ?? {}, { order, page }),
      )
      const items = groups.map(({ dimension, value }) => ({ metricValue: value, dimensionValue: dimension }))
      const path = `/data/buckets/${params.metric}/${breakdown}`
      return {
        context: {
          // The response has no name for total plays; the empty timeframe distinguishes them.
          metric: metricName(isTotal ? metric : params.metric, measure),
          breakdown: responseBreakdown(breakdown),
          timeframe: sessions ? viewPeriod(sessions.period) : {},
        },
        ...listResponse(path, flatFilters(query), page, items, total),
      }
    },
  )
}

function checkTotalBreakdown(breakdown: string, query: DataQuery): void {
  if (breakdown !== 'media-id')
    throw invalidCombination('breakdown', 'Total plays support only the breakdown media-id.')
  checkTotalFilters(query)
}

function timeSeriesRoute(app: App, { selectSessions }: Deps): void {
  app.get(
    '/data/timeseries/:metric',
    {
      ...validation,
      schema: {
        operationId: 'GET_metrics-over-time',
        tags: ['Analytics'],
        summary: 'Show a metric over time',
        description: 'Every interval of the period has a value, even if it is 0.',
        params: Type.Object({
          metric: oneOf(timeMetrics, { description: 'What is measured.', examples: ['play'] }),
        }),
        querystring: Type.Object({
          ...dataQuery,
          interval: Type.Optional(
            oneOf(intervals, {
              description:
                'By default `hour` for up to two days, otherwise `day`. `minute` requires a period of less than 60 minutes.',
              examples: ['hour'],
            }),
          ),
          sortBy: sortByField(['metricValue', 'emittedAt'], 'emittedAt'),
          sortOrder,
          ...pageQuery,
        }),
        response: { 200: ref(MetricSeries) },
      },
    },
    async ({ params, query, read, scope }) => {
      const [metric, aggregation] = splitMetric(params.metric)
      const measure = readMeasure(metric, aggregation, query)
      const sessions = selectSessions(scope.environment, query)
      const interval = readInterval(query.interval, sessions.period)
      const isByValue = query.sortBy === 'metricValue'
      const order: store.Order = {
        by: isByValue ? 'value' : 'dimension',
        order: query.sortOrder ?? (isByValue ? 'desc' : 'asc'),
      }
      const page = readPage(query)
      const { groups, total } = await read((db) =>
        store.readSeries(db, sessions, measure, { interval, order, page }),
      )
      const items = groups.map(({ dimension, value }) => ({
        emittedAt: formatTime(dimension),
        metricValue: value,
      }))
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

/** Some metric names include the aggregation. */
function splitMetric(name: (typeof bucketMetrics)[number]): [metric: Metric, aggregation: string] {
  const [, metric, aggregation = 'count'] = /^(watch-time|\w+)(?:-(\w+))?$/.exec(name) ?? []
  return [metric as Metric, aggregation]
}

/** An unknown metric or breakdown in the path is an unknown URL. */
function validatorCompiler(route: { schema: unknown; httpPart?: string }) {
  const check = compileValidator(route)
  return (data: unknown) => {
    const result = check(data)
    if (!('error' in result)) return result
    const isPath = route.httpPart === 'params'
    return { error: isPath ? new ApiError(httpErrors.unknownUrl) : withDetail(result.error) }
  }
}

const validation = { validatorCompiler: validatorCompiler as never }
