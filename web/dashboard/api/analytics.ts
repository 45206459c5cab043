import { queryOptions } from '@tanstack/react-query'
import { api, type Environment } from './client.ts'
import { ApiProblem } from './problem.ts'
import type { MetricBuckets, MetricSeries } from './schemas.ts'
import type { Page } from './types.ts'

export type Breakdown =
  | 'media-id'
  | 'country'
  | 'device-type'
  | 'operating-system'
  | 'browser'
  | 'referrer'
  | 'referrer-host'

type Filters = {
  mediaId?: string
  mediaType?: string
  tag?: string
  country?: string
  deviceType?: string
  operatingSystem?: string
  browser?: string
  referrer?: string
}

type Interval = 'hour' | 'day'
type Times = { from: Date; to: Date }

/** The times are read when the request is made, so that a period that ends now includes what has just happened. */
export type Selection = { id: string; times(): Times; filters: Filters; interval: Interval }

/** A metric as the three data routes name it. */
export type Metric = {
  name: string
  aggregation: string
  series: string
  options?: { unique: boolean; viewDuration: string }
}

export const timesOf = ({ times }: Selection) => {
  const { from, to } = times()
  return { from: from.toISOString(), to: to.toISOString() }
}

const dataQuery = (metric: Metric, selection: Selection) => ({
  ...timesOf(selection),
  ...metric.options,
  filterBy: selection.filters as Record<string, string>,
})

/** Reports of viewers invalidate everything below it. */
export const keyOf = (environment: Environment, ...rest: unknown[]) => [
  environment,
  'sessions',
  'list',
  ...rest,
]

/** A period before the oldest sessions is rejected. Repeating the request does not help. */
export const isTooOld = (error: Error | null) =>
  error instanceof ApiProblem && error.status === 400 && error.fields.from !== undefined

export const metricQuery = (environment: Environment, metric: Metric, selection: Selection) =>
  queryOptions({
    queryKey: keyOf(environment, 'metric', metric, selection.id, selection.filters),
    queryFn: async ({ signal }) =>
      (
        await api<{ data: number }>(
          environment,
          'GET',
          `/data/metrics/${metric.name}/${metric.aggregation}`,
          { query: dataQuery(metric, selection), signal },
        )
      ).data,
  })

export type SeriesPoint = MetricSeries['data'][number]

export const maxPageSize = 100
/** For exports. */
const maxPages = 50

/** `total` is larger than the number of rows if there were too many. */
export type Loaded<T> = { rows: T[]; total: number }

/** All pages of a list, up to 5,000 rows. */
export async function loadAll<T>(load: (currentPage: number) => Promise<Page<T>>): Promise<Loaded<T>> {
  const first = await load(1)
  const rows = [...first.data]
  const { pagesTotal, itemsTotal } = first.pagination
  for (let page = 2; page <= Math.min(maxPages, pagesTotal); page++) rows.push(...(await load(page)).data)
  return { rows, total: itemsTotal }
}

/** Every interval of the period, from all pages. */
export const seriesQuery = (environment: Environment, metric: Metric, selection: Selection) =>
  queryOptions({
    queryKey: keyOf(environment, 'series', metric, selection.id, selection.filters),
    queryFn: async ({ signal }) => {
      const query = { ...dataQuery(metric, selection), interval: selection.interval, pageSize: maxPageSize }
      const { rows } = await loadAll((currentPage) =>
        api<Page<SeriesPoint>>(environment, 'GET', `/data/timeseries/${metric.series}`, {
          query: { ...query, currentPage },
          signal,
        }),
      )
      return rows
    },
  })

export type Bucket = MetricBuckets['data'][number]

type Buckets = { breakdown: Breakdown; pageSize: number; currentPage?: number; signal?: AbortSignal }

const loadBuckets = (
  environment: Environment,
  metric: Metric,
  selection: Selection,
  { breakdown, signal, ...page }: Buckets,
) =>
  api<Page<Bucket>>(environment, 'GET', `/data/buckets/${metric.series}/${breakdown}`, {
    query: { ...dataQuery(metric, selection), ...page },
    signal,
  })

export const bucketsQuery = (
  environment: Environment,
  metric: Metric,
  selection: Selection,
  { breakdown, pageSize }: Pick<Buckets, 'breakdown' | 'pageSize'>,
) =>
  queryOptions({
    queryKey: keyOf(environment, 'buckets', breakdown, metric, selection.id, selection.filters, pageSize),
    queryFn: ({ signal }) => loadBuckets(environment, metric, selection, { breakdown, pageSize, signal }),
  })

export const loadAllBuckets = (
  environment: Environment,
  metric: Metric,
  selection: Selection,
  breakdown: Breakdown,
) =>
  loadAll((currentPage) =>
    loadBuckets(environment, metric, selection, { breakdown, pageSize: maxPageSize, currentPage }),
  )
