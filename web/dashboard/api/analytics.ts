import { queryOptions } from '@tanstack/react-query'
import { api, type Environment } from './client.ts'
import { ApiProblem } from './problem.ts'
import type { Page, Pair } from './types.ts'

export type Breakdown =
  | 'media-id'
  | 'country'
  | 'device-type'
  | 'operating-system'
  | 'browser'
  | 'referrer'
  | 'referrer-host'

export type Filters = {
  mediaId?: string
  mediaType?: string
  tag?: string
  country?: string
  deviceType?: string
  operatingSystem?: string
  browser?: string
  referrer?: string
}

export type Interval = 'hour' | 'day'
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

const timesOf = ({ times }: Selection) => {
  const { from, to } = times()
  return { from: from.toISOString(), to: to.toISOString() }
}

const dataQuery = (metric: Metric, selection: Selection) => ({
  ...timesOf(selection),
  ...metric.options,
  filterBy: selection.filters as Record<string, string>,
})

/** Reports of viewers invalidate everything below it. */
const keyOf = (environment: Environment, ...rest: unknown[]) => [environment, 'sessions', 'list', ...rest]

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

export type SeriesPoint = { emittedAt: string; metricValue: number }

const maxPageSize = 100

/** Every interval of the period, from all pages. */
export const seriesQuery = (environment: Environment, metric: Metric, selection: Selection) =>
  queryOptions({
    queryKey: keyOf(environment, 'series', metric, selection.id, selection.filters),
    queryFn: async ({ signal }) => {
      const query = { ...dataQuery(metric, selection), interval: selection.interval, pageSize: maxPageSize }
      const load = (currentPage: number) =>
        api<Page<SeriesPoint>>(environment, 'GET', `/data/timeseries/${metric.series}`, {
          query: { ...query, currentPage },
          signal,
        })
      const first = await load(1)
      const points = [...first.data]
      for (let page = 2; page <= first.pagination.pagesTotal; page++) points.push(...(await load(page)).data)
      return points
    },
  })

export type Bucket = { dimensionValue: string; metricValue: number }

export const bucketsQuery = (
  environment: Environment,
  metric: Metric,
  selection: Selection,
  { breakdown, pageSize }: { breakdown: Breakdown; pageSize: number },
) =>
  queryOptions({
    queryKey: keyOf(environment, 'buckets', breakdown, metric, selection.id, selection.filters, pageSize),
    queryFn: ({ signal }) =>
      api<Page<Bucket>>(environment, 'GET', `/data/buckets/${metric.series}/${breakdown}`, {
        query: { ...dataQuery(metric, selection), pageSize },
        signal,
      }),
  })

export type CurvePoint = { from: number; to: number; share: number; viewers: number }
export type Retention = {
  sessions: number
  curve: CurvePoint[]
  values?: { value: string; sessions: number; curve: CurvePoint[] }[]
}

export const retentionQuery = (
  environment: Environment,
  videoId: string,
  selection: Selection,
  by: string | undefined,
) =>
  queryOptions({
    queryKey: keyOf(environment, 'retention', videoId, selection.id, by),
    queryFn: ({ signal }) =>
      api<Retention>(environment, 'GET', `/analytics/videos/${encodeURIComponent(videoId)}/retention`, {
        query: { ...timesOf(selection), by },
        signal,
      }),
  })

export type MetadataKey = { key: string; sessions: number; values: number }

export const metadataKeysQuery = (environment: Environment, selection: Selection) =>
  queryOptions({
    queryKey: keyOf(environment, 'keys', selection.id, selection.filters.mediaId),
    queryFn: async ({ signal }) =>
      (
        await api<Page<MetadataKey>>(environment, 'GET', '/analytics/metadata', {
          query: { ...timesOf(selection), videoId: selection.filters.mediaId, pageSize: maxPageSize },
          signal,
        })
      ).data,
  })

export type MetadataValue = {
  value: string
  sessions: number
  plays: number
  watchTime: number
  averageWatchTime: number
  completion: number | null
  lastSeenAt: string
}

export const valueOrders = ['plays', 'watchTime', 'completion', 'sessions'] as const
export type ValueOrder = (typeof valueOrders)[number]

export const metadataValuesQuery = (
  environment: Environment,
  selection: Selection,
  { key, sortBy, currentPage }: { key: string; sortBy: ValueOrder; currentPage: number },
) =>
  queryOptions({
    queryKey: keyOf(environment, 'values', key, selection.id, selection.filters.mediaId, sortBy, currentPage),
    queryFn: ({ signal }) =>
      api<Page<MetadataValue>>(environment, 'GET', `/analytics/metadata/${encodeURIComponent(key)}`, {
        query: { ...timesOf(selection), videoId: selection.filters.mediaId, sortBy, currentPage },
        signal,
      }),
  })

export type ViewingSession = {
  session: { sessionId: string; loadedAt: string; endedAt: string; metadata: Pair[] }
  location: { country: string | null }
  referrer: { url: string | null; source: string | null }
  device: { type: string | null; vendor: string | null; model: string | null }
  os: { name: string | null; version: string | null }
  client: { name: string | null; version: string | null }
  watch: {
    plays: number
    seconds: number
    ranges: { from: number; to: number }[]
    completion: number | null
  }
}

export type MediaRef = { id: string; type: 'video' | 'live-stream'; title: string }
export type ViewerSession = ViewingSession & { media: MediaRef }

const sessionsPerPage = 20

/** The sessions of one viewer, with all videos and live streams. */
export const viewerSessionsQuery = (
  environment: Environment,
  selection: Selection,
  { key, value, currentPage }: { key: string; value: string; currentPage: number },
) =>
  queryOptions({
    queryKey: keyOf(environment, 'viewer', key, value, selection.id, currentPage),
    queryFn: ({ signal }) =>
      api<Page<ViewerSession>>(environment, 'GET', '/analytics/sessions', {
        query: {
          ...timesOf(selection),
          metadata: { [key]: value },
          currentPage,
          pageSize: sessionsPerPage,
        },
        signal,
      }),
  })

type MediaSessions = { media: MediaRef; viewer: Pair | undefined; currentPage: number }

/** The sessions of one video or live stream, or those of one viewer of it. The period is a range of days. */
export const mediaSessionsQuery = (
  environment: Environment,
  selection: Selection,
  { media, viewer, currentPage }: MediaSessions,
) =>
  queryOptions({
    queryKey: keyOf(environment, 'media', media.id, viewer, selection.id, currentPage),
    queryFn: async ({ signal }): Promise<Page<ViewerSession>> => {
      const { from, to } = timesOf(selection)
      const kind = media.type === 'video' ? 'videos' : 'live-streams'
      const period = `${from.slice(0, 10)}/${new Date(Date.parse(to) - 1).toISOString().slice(0, 10)}`
      const page = await api<Page<ViewingSession>>(
        environment,
        'GET',
        `/analytics/${kind}/${encodeURIComponent(media.id)}`,
        {
          query: {
            period,
            ...(viewer && { metadata: { [viewer.key]: viewer.value } }),
            currentPage,
            pageSize: sessionsPerPage,
          },
          signal,
        },
      )
      return { ...page, data: page.data.map((session) => ({ ...session, media })) }
    },
  })

export type ViewingEvent = { type: string; emittedAt: string; at?: number; from?: number; to?: number }

const eventsPerPage = 100

export const eventsQuery = (environment: Environment, sessionId: string, currentPage: number) =>
  queryOptions({
    queryKey: keyOf(environment, 'events', sessionId, currentPage),
    queryFn: ({ signal }) =>
      api<Page<ViewingEvent>>(
        environment,
        'GET',
        `/analytics/sessions/${encodeURIComponent(sessionId)}/events`,
        { query: { currentPage, pageSize: eventsPerPage }, signal },
      ),
  })

/** Deletes all sessions of one viewer, in all periods. */
export const deleteViewer = (environment: Environment, { key, value }: Pair) =>
  api<{ deleted: number }>(environment, 'DELETE', '/analytics/sessions', {
    query: { metadata: { [key]: value } },
  })
