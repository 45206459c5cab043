import { queryOptions } from '@tanstack/react-query'
import { api, type Environment } from './client.ts'
import type { LiveStream } from './live-streams.ts'
import type { Page } from './types.ts'
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

/** How many videos in progress are shown. Each one costs a request whenever it changes. */
const processingCount = 3

/** The newest videos that arrive or are encoded, and how many there are. */
export const processingQuery = (environment: Environment) =>
  queryOptions({
    queryKey: [environment, 'videos', 'list', 'processing'],
    queryFn: ({ signal }) =>
      api<Page<ListedVideo>>(environment, 'GET', '/videos', {
        query: { status: 'processing', include: ['status'], pageSize: processingCount },
        signal,
      }),
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
