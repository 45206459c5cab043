import { type QueryClient, queryOptions, useQueries, useQuery } from '@tanstack/react-query'
import { api, type Environment } from '../../../api/client.ts'
import type { LiveStream } from '../../../api/live-streams.ts'
import { ApiProblem } from '../../../api/problem.ts'
import type { Video, VideoStatus } from '../../../api/types.ts'
import type { MediaRef } from '../../../api/viewing-sessions.ts'
import { useEnvironment } from '../../../app/environment.ts'

export const isLiveId = (id: string) => id.startsWith('li')

/** The title of a video or live stream. Null if it was deleted. */
const mediaQuery = (environment: Environment, id: string) =>
  queryOptions({
    queryKey: [environment, isLiveId(id) ? 'live-streams' : 'videos', id, 'title'],
    queryFn: async ({ signal }): Promise<(MediaRef & { player: string }) | null> => {
      try {
        if (isLiveId(id)) {
          const path = `/live-streams/${encodeURIComponent(id)}`
          const { name, assets } = await api<LiveStream>(environment, 'GET', path, { signal })
          return { id, type: 'live-stream', title: name, player: assets.player }
        }
        const path = `/videos/${encodeURIComponent(id)}`
        const { title, assets } = await api<Video>(environment, 'GET', path, { signal })
        return { id, type: 'video', title, player: assets.player }
      } catch (error) {
        if (error instanceof ApiProblem && error.status === 404) return null
        throw error
      }
    },
  })

/** Undefined while it is loading and if it was deleted. */
export function useMedia(id: string | undefined) {
  const environment = useEnvironment()
  const { data } = useQuery({ ...mediaQuery(environment, id ?? ''), enabled: Boolean(id) })
  return data ?? undefined
}

/** The titles by id. Null if it was deleted, undefined while it is loading. */
export function useMediaTitles(ids: string[]): Map<string, string | null | undefined> {
  const environment = useEnvironment()
  const found = useQueries({ queries: ids.map((id) => mediaQuery(environment, id)) })
  return new Map(ids.map((id, i) => [id, found[i]?.data === null ? null : found[i]?.data?.title]))
}

/** A browser sends few requests at the same time in any case. */
const parallel = 6

/** The titles of many. Null if it was deleted. */
export async function loadTitles(client: QueryClient, environment: Environment, ids: string[]) {
  const titles = new Map<string, string | null>()
  const rest = [...ids]
  const loadNext = async () => {
    for (let id = rest.pop(); id !== undefined; id = rest.pop())
      titles.set(id, (await client.fetchQuery(mediaQuery(environment, id)))?.title ?? null)
  }
  await Promise.all(Array.from({ length: parallel }, loadNext))
  return titles
}

/** Seconds of a video. Undefined until it is known. */
export function useDuration({ id, type }: MediaRef): number | undefined {
  const environment = useEnvironment()
  const { data } = useQuery({
    queryKey: [environment, 'videos', id, 'duration'],
    enabled: type === 'video',
    queryFn: async ({ signal }) => {
      const path = `/videos/${encodeURIComponent(id)}/status`
      return (await api<VideoStatus>(environment, 'GET', path, { signal })).encoding.metadata.duration
    },
  })
  return data ?? undefined
}
