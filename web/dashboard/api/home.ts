import { queryOptions } from '@tanstack/react-query'
import { api, type Environment } from './client.ts'
import type { LiveStream } from './live-streams.ts'
import type { Page, Video } from './types.ts'
import { importVideo, type ListedVideo } from './videos.ts'

/** The newest videos, with their states. */
export const newestVideosQuery = (environment: Environment, pageSize: number) =>
  queryOptions({
    queryKey: [environment, 'videos', 'list', 'newest', pageSize],
    queryFn: ({ signal }) =>
      api<Page<ListedVideo>>(environment, 'GET', '/videos', {
        query: { include: ['status'], pageSize },
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

/** The live streams that can be watched at this moment. */
export const onAirQuery = (environment: Environment) =>
  queryOptions({
    queryKey: [environment, 'live-streams', 'list', 'on-air'],
    queryFn: async ({ signal }) => {
      const query = { sortBy: 'broadcasting', sortOrder: 'desc', pageSize: 100 }
      const { data } = await api<Page<LiveStream>>(environment, 'GET', '/live-streams', { query, signal })
      return data.filter(({ broadcasting }) => broadcasting)
    },
  })

/** The title is the name of the file. */
export const importByUrl = (environment: Environment, source: string) =>
  importVideo(environment, { source, public: true })
