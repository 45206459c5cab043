import { type QueryKey, type UndefinedInitialDataOptions, useQuery } from '@tanstack/react-query'
import { type LiveStream, newLiveLinkQuery } from '../api/live-streams.ts'
import type { Video } from '../api/types.ts'
import { newLinkQuery } from '../api/video.ts'
import { useEnvironment } from './environment.ts'

/** The URLs to give away. Those of a private video are for one viewer, and the player of this page uses its own. */
export const useShareLinks = (video: Video, place: 'share' | 'embed' | 'home') =>
  useLinks(video, newLinkQuery(useEnvironment(), video, place))

export const useLiveShareLinks = (stream: LiveStream, place: 'share' | 'preview') =>
  useLinks(stream, newLiveLinkQuery(useEnvironment(), stream.liveStreamId, place))

function useLinks<Assets, Key extends QueryKey>(
  playable: { public: boolean; assets: Assets },
  query: UndefinedInitialDataOptions<Assets, Error, Assets, Key>,
) {
  const { data, error, isFetching, refetch } = useQuery({ ...query, enabled: !playable.public })
  return {
    /** Undefined while they are loaded. */
    assets: playable.public ? playable.assets : data,
    error,
    isFetching,
    /** Asks for links for another viewer. */
    renew: () => {
      if (!playable.public) void refetch()
    },
  }
}
