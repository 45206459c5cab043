import { useQuery } from '@tanstack/react-query'
import type { Video } from '../api/types.ts'
import { newLinkQuery } from '../api/video.ts'
import { useEnvironment } from './environment.ts'

/** The URLs to give away. Those of a private video are for one viewer, and the player of this page uses its own. */
export function useShareLinks(video: Video, place: 'share' | 'embed' | 'home') {
  const query = newLinkQuery(useEnvironment(), video, place)
  const { data, error, isFetching, refetch } = useQuery({ ...query, enabled: !video.public })
  return {
    /** Undefined while they are loaded. */
    assets: video.public ? video.assets : data,
    error,
    isFetching,
    /** Asks for links for another viewer. */
    renew: () => {
      if (!video.public) void refetch()
    },
  }
}
