import { queryOptions } from '@tanstack/react-query'
import { keyOf, loadAll, maxPageSize, type Selection, timesOf } from './analytics.ts'
import { api, type Environment } from './client.ts'
import type {
  MetadataKeys,
  MetadataValues,
  Retention,
  ViewerSession,
  ViewingEventList,
  ViewingSession,
} from './schemas.ts'
import type { Page, Pair } from './types.ts'

export type { Retention, ViewerSession }
export type CurvePoint = Retention['curve'][number]
export type MetadataKey = MetadataKeys['data'][number]
export type MetadataValue = MetadataValues['data'][number]
export type MediaRef = ViewerSession['media']
export type ViewingEvent = ViewingEventList['data'][number]

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

export const valueOrders = ['plays', 'watchTime', 'completion', 'sessions'] as const
export type ValueOrder = (typeof valueOrders)[number]

type Values = {
  key: string
  sortBy: ValueOrder
  currentPage: number
  pageSize?: number
  signal?: AbortSignal
}

const loadValues = (environment: Environment, selection: Selection, { key, signal, ...page }: Values) =>
  api<Page<MetadataValue>>(environment, 'GET', `/analytics/metadata/${encodeURIComponent(key)}`, {
    query: { ...timesOf(selection), videoId: selection.filters.mediaId, ...page },
    signal,
  })

export const metadataValuesQuery = (
  environment: Environment,
  selection: Selection,
  page: Pick<Values, 'key' | 'sortBy' | 'currentPage' | 'pageSize'>,
) =>
  queryOptions({
    queryKey: keyOf(environment, 'values', selection.id, selection.filters.mediaId, page),
    queryFn: ({ signal }) => loadValues(environment, selection, { ...page, signal }),
  })

export const loadAllValues = (
  environment: Environment,
  selection: Selection,
  { key, sortBy }: Pick<Values, 'key' | 'sortBy'>,
) =>
  loadAll((currentPage) =>
    loadValues(environment, selection, { key, sortBy, currentPage, pageSize: maxPageSize }),
  )

const sessionsPerPage = 20

/** Without both, all sessions. */
export type SessionsOf = { viewer: Pair | undefined; media: MediaRef | undefined }
type SessionPage = { currentPage: number; pageSize: number; signal?: AbortSignal }

/** The sessions of one viewer, of one video or live stream, of both, or all. */
async function loadSessions(
  environment: Environment,
  selection: Selection,
  { viewer, media }: SessionsOf,
  { signal, ...page }: SessionPage,
): Promise<Page<ViewerSession>> {
  const times = timesOf(selection)
  const metadata = viewer ? { metadata: { [viewer.key]: viewer.value } } : {}
  if (!media) {
    const query = { ...times, ...metadata, ...page }
    return api<Page<ViewerSession>>(environment, 'GET', '/analytics/sessions', { query, signal })
  }
  const kind = media.type === 'video' ? 'videos' : 'live-streams'
  const path = `/analytics/${kind}/${encodeURIComponent(media.id)}`
  const lastDay = new Date(Date.parse(times.to) - 1).toISOString()
  const period = `${times.from.slice(0, 10)}/${lastDay.slice(0, 10)}`
  const query = { period, ...metadata, ...page }
  const found = await api<Page<ViewingSession>>(environment, 'GET', path, { query, signal })
  return { ...found, data: found.data.map((session) => ({ ...session, media })) }
}

export const sessionsQuery = (
  environment: Environment,
  selection: Selection,
  of: SessionsOf,
  currentPage: number,
) =>
  queryOptions({
    queryKey: keyOf(environment, 'sessions', of.viewer, of.media?.id, selection.id, currentPage),
    queryFn: ({ signal }) =>
      loadSessions(environment, selection, of, { currentPage, pageSize: sessionsPerPage, signal }),
  })

export const loadAllSessions = (environment: Environment, selection: Selection, of: SessionsOf) =>
  loadAll((currentPage) => loadSessions(environment, selection, of, { currentPage, pageSize: maxPageSize }))

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
