import { queryOptions } from '@tanstack/react-query'
import { api, type Environment } from './client.ts'
import type { Page, Video } from './types.ts'

export type RecentVideo = Video & {
  status?: {
    state: 'ready' | 'processing' | 'failed' | 'missing'
    playable: boolean
    duration: number | null
    failure?: string
  }
}

const recentCount = 8

export const recentVideosQuery = (environment: Environment) =>
  queryOptions({
    queryKey: [environment, 'videos', 'list', 'recent'],
    queryFn: ({ signal }) =>
      api<Page<RecentVideo>>(environment, 'GET', '/videos', {
        query: { include: ['status'], pageSize: recentCount },
        signal,
      }),
  })

export const failedCountQuery = (environment: Environment) =>
  queryOptions({
    queryKey: [environment, 'videos', 'list', 'failed-count'],
    queryFn: async ({ signal }) => {
      const query = { status: 'failed', pageSize: 1 }
      const { pagination } = await api<Page<Video>>(environment, 'GET', '/videos', { query, signal })
      return pagination.itemsTotal
    },
  })

/** How many watch at this moment. */
export const viewersQuery = (environment: Environment) =>
  queryOptions({
    queryKey: [environment, 'sessions', 'list', 'now'],
    queryFn: async ({ signal }) =>
      (await api<{ data: number }>(environment, 'GET', '/data/metrics/ccv/live', { signal })).data,
  })

export type OnAir = { liveStreamId: string; name: string; broadcasting: boolean }

/** The live streams that can be watched at this moment, among the newest. */
export const onAirQuery = (environment: Environment) =>
  queryOptions({
    queryKey: [environment, 'live-streams', 'list', 'on-air'],
    queryFn: async ({ signal }) => {
      const { data } = await api<Page<OnAir>>(environment, 'GET', '/live-streams', {
        query: { pageSize: 100 },
        signal,
      })
      return data.filter(({ broadcasting }) => broadcasting)
    },
  })

export const oneVideoQuery = (environment: Environment, videoId: string) =>
  queryOptions({
    queryKey: [environment, 'videos', videoId],
    queryFn: ({ signal }) =>
      api<Video>(environment, 'GET', `/videos/${encodeURIComponent(videoId)}`, { signal }),
  })

/** The title is the name of the file. */
export function fetchVideo(environment: Environment, source: string) {
  const name = URL.parse(source)?.pathname.split('/').at(-1)
  const title = name ? safeDecode(name) : ''
  return api<Video>(environment, 'POST', '/videos', { body: { source, ...(title && { title }) } })
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export const retryVideo = (environment: Environment, videoId: string) =>
  api<unknown>(environment, 'POST', `/videos/${encodeURIComponent(videoId)}/retry`)
