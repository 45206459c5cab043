import type { QueryClient } from '@tanstack/react-query'
import type { Environment } from '../../../api/client.ts'
import { pageSize, type VideoFilters, videosQuery } from '../../../api/videos.ts'
import { messages } from '../../../messages/messages.ts'

const maxSelected = 3_000

/** The ids of the videos between two places in the list, both included. Loads what has not been shown yet. */
export async function loadRange(
  client: QueryClient,
  environment: Environment,
  filters: VideoFilters,
  places: [number, number],
): Promise<string[]> {
  const [first, last] = [Math.min(...places), Math.max(...places)]
  if (last - first >= maxSelected) throw new Error(messages.videos.rangeTooLong(maxSelected))
  const ids: string[] = []
  for (let page = Math.floor(first / pageSize); page <= Math.floor(last / pageSize); page++) {
    const { data } = await client.ensureQueryData(videosQuery(environment, filters, page))
    const offset = page * pageSize
    ids.push(...data.slice(Math.max(0, first - offset), last - offset + 1).map(({ videoId }) => videoId))
  }
  return ids
}
