import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api, type Environment } from './client.ts'
import { nextPage } from './paging.ts'
import type { Event } from './schemas.ts'
import type { Page, Video, VideoStatus } from './types.ts'
import { pathOf } from './videos.ts'

/** The attributes of a video that can be changed. */
export const detailsOf = (video: Video) => ({
  title: video.title,
  description: video.description,
  tags: video.tags,
  metadata: video.metadata,
  public: video.public,
  panoramic: video.panoramic,
  mp4Support: video.mp4Support,
  playableDuringUpload: video.playableDuringUpload,
  language: video.language,
  playerId: video.playerId,
})
export type Details = ReturnType<typeof detailsOf>

export type VideoChange = Partial<Details> & { transcript?: boolean }

export const videoQuery = (environment: Environment, videoId: string) =>
  queryOptions({
    queryKey: [environment, 'videos', videoId],
    queryFn: ({ signal }) => fetchVideo(environment, videoId, signal),
  })

export const fetchVideo = (environment: Environment, videoId: string, signal?: AbortSignal) =>
  api<Video>(environment, 'GET', pathOf(videoId), { signal })

/**
 * The URLs of a private video are new in each response, and the first who opens one uses it up. These are to be given
 * away: no player of the page opens them. They stay until others are asked for. `place` is the part of the page.
 */
export const newLinkQuery = (
  environment: Environment,
  { videoId, title, mp4Support }: Video,
  place: 'share' | 'embed' | 'home',
) =>
  queryOptions({
    // They contain the title, and there may be one for the MP4.
    queryKey: ['video-link', environment, videoId, place, title, mp4Support],
    gcTime: 0,
    queryFn: async ({ signal }) => (await fetchVideo(environment, videoId, signal)).assets,
  })

/** A deleted video that can be restored. */
export const discardedVideoQuery = (environment: Environment, videoId: string) =>
  queryOptions({
    queryKey: [environment, 'videos', videoId, 'discarded'],
    queryFn: ({ signal }) => api<Video>(environment, 'GET', `/discarded${pathOf(videoId)}`, { signal }),
  })

export const videoEventsQuery = (environment: Environment, videoId: string) =>
  infiniteQueryOptions({
    queryKey: [environment, 'events', videoId],
    initialPageParam: 1,
    queryFn: ({ pageParam, signal }) =>
      api<Page<Event>>(environment, 'GET', '/events', {
        query: { videoId, currentPage: pageParam, pageSize: 50 },
        signal,
      }),
    getNextPageParam: nextPage,
  })

export const updateVideo = (environment: Environment, videoId: string, body: VideoChange) =>
  api<Video>(environment, 'PATCH', pathOf(videoId), { body })

/** Creates a video with the details of another one. With `hasSource`, the server also fetches the same file. */
export const createLike = (environment: Environment, video: Video, hasSource: boolean) =>
  api<Video>(environment, 'POST', '/videos', {
    body: { ...(hasSource && { source: sourceOf(video) }), ...detailsOf(video) },
  })

/** A URL, or the id of a video in `/videos/vi…/source`. */
const sourceOf = ({ source: { type, uri } }: Video) => (type === 'clone' ? uri.split('/')[2] : uri)

export const retryEncoding = (environment: Environment, videoId: string) =>
  api<VideoStatus>(environment, 'POST', `${pathOf(videoId)}/retry`)

export const pickThumbnail = (environment: Environment, videoId: string, timecode: string) =>
  api<Video>(environment, 'PATCH', `${pathOf(videoId)}/thumbnail`, { body: { timecode } })

export function uploadThumbnail(environment: Environment, videoId: string, file: File) {
  const body = new FormData()
  body.append('file', file)
  return api<Video>(environment, 'POST', `${pathOf(videoId)}/thumbnail`, { body })
}
