import { useQuery } from '@tanstack/react-query'
import { newestVideosQuery, onAirQuery, processingQuery } from '../../api/home.ts'
import { systemQuery } from '../../api/system.ts'
import { useEnvironment } from '../../app/environment.ts'
import { recentViewsQuery } from '../viewers/recent-views-query.ts'

/** Two rows on the widest screens. */
const newestCount = 16

/** Everything that the page shows. It is loaded at once and shown at once, so that nothing moves. */
export function useHome() {
  const environment = useEnvironment()
  const newest = useQuery(newestVideosQuery(environment, newestCount))
  const processing = useQuery(processingQuery(environment))
  const onAir = useQuery(onAirQuery(environment))
  const system = useQuery(systemQuery(environment))
  const views = useQuery(recentViewsQuery(environment))
  const all = [newest, processing, onAir, system, views]
  return {
    newest,
    processing,
    onAir,
    system,
    views,
    isPending: all.some((query) => query.isPending),
    /** Why a part of the page is missing. */
    error: all.find((query) => query.error && query.data === undefined)?.error,
    retry() {
      for (const query of all) if (query.error) void query.refetch()
    },
  }
}

export type Home = ReturnType<typeof useHome>
