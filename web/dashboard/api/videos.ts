import { queryOptions } from '@tanstack/react-query'
import { messages } from '../messages/messages.ts'
import { api, type Environment } from './client.ts'
import { ApiProblem } from './problem.ts'
import type * as schemas from './schemas.ts'
import type { Page, Video } from './types.ts'
import type { WatermarkInput } from './watermarks.ts'

export type VideoState = ListedVideo['status']['state']
export const videoStates: VideoState[] = ['ready', 'processing', 'failed', 'missing']

/** Small frames of the entire video, on sheets. */
export type Preview = NonNullable<Video['assets']['preview']>

/** A video in a list. */
export type ListedVideo = Video & { status: NonNullable<Video['status']> }

/** A deleted video that can be restored. It has no assets. */
export type DiscardedVideo = schemas.Video

/** What `GET /videos` filters and sorts by. */
export type VideoFilters = {
  search?: string | undefined
  public?: boolean | undefined
  status?: VideoState | undefined
  tags?: string[] | undefined
  metadata?: Record<string, string> | undefined
  sortBy?: string | undefined
  sortOrder?: string | undefined
}

export const pageSize = 60
/** Lists with filters count at most this many videos. */
export const maxFound = 5_000

/** Pages that are not shown any more are forgotten soon: there may be thousands. The first one has the total. */
const forgetMs = 20_000

/** Pages are counted from 0. */
export const videosQuery = (environment: Environment, filters: VideoFilters, page: number) =>
  queryOptions({
    queryKey: [environment, 'videos', 'list', filters, page],
    queryFn: ({ signal }) =>
      api<Page<ListedVideo>>(environment, 'GET', '/videos', {
        query: { ...filters, include: ['status', 'preview'], currentPage: page + 1, pageSize },
        signal,
      }),
    ...(page > 0 && { gcTime: forgetMs }),
  })

/** The ids of a page of at most 100 videos, for actions on everything that matches. */
export type ListIds = (page: number, signal: AbortSignal) => Promise<{ ids: string[]; pagesTotal: number }>

export const listIds =
  (environment: Environment, path: '/videos' | '/discarded/videos', filters: VideoFilters): ListIds =>
  async (page, signal) => {
    const query = { ...filters, currentPage: page + 1, pageSize: 100 }
    const { data, pagination } = await api<Page<schemas.Video>>(environment, 'GET', path, { query, signal })
    return { ids: data.map(({ videoId }) => videoId), pagesTotal: pagination.pagesTotal }
  }

const discardedPageSize = 50

export const discardedQuery = (environment: Environment, page: number) =>
  queryOptions({
    queryKey: [environment, 'videos', 'list', 'discarded', page],
    queryFn: ({ signal }) =>
      api<Page<DiscardedVideo>>(environment, 'GET', '/discarded/videos', {
        query: { currentPage: page, pageSize: discardedPageSize },
        signal,
      }),
  })

export type TagSuggestion = { value: string; videoCount: number }

/** Tags that contain the text, the most used first. */
export const tagSuggestionsQuery = (environment: Environment, value: string) =>
  queryOptions({
    queryKey: [environment, 'videos', 'list', 'tags', value],
    queryFn: async ({ signal }) => {
      const query = { value, pageSize: 8, sortBy: 'videoCount', sortOrder: 'desc' }
      return (await api<Page<TagSuggestion>>(environment, 'GET', '/tags', { query, signal })).data
    },
  })

export const pathOf = (videoId: string) => `/videos/${encodeURIComponent(videoId)}`

/** Creates a video from a URL. The message of the API is about ids of videos, too. */
export async function importVideo(
  environment: Environment,
  body: { source: string; title?: string; public: boolean; watermark?: WatermarkInput },
): Promise<Video> {
  if (!/^https?:\/\/./i.test(body.source))
    throw new ApiProblem(400, { title: messages.videos.ingest.invalidUrl, name: 'source' })
  return api<Video>(environment, 'POST', '/videos', { body })
}

export const setPublic = (
  environment: Environment,
  videoId: string,
  isPublic: boolean,
  signal?: AbortSignal,
) => api<Video>(environment, 'PATCH', pathOf(videoId), { body: { public: isPublic }, signal })

export const deleteVideo = (environment: Environment, videoId: string, signal?: AbortSignal) =>
  api<void>(environment, 'DELETE', pathOf(videoId), { signal })

export const restoreVideo = (environment: Environment, videoId: string, signal?: AbortSignal) =>
  api<Video>(environment, 'PATCH', `/discarded${pathOf(videoId)}`, { body: { discarded: false }, signal })

/** Removes a deleted video, which cannot be restored any more. */
export const deletePermanently = (environment: Environment, videoId: string, signal?: AbortSignal) =>
  api<void>(environment, 'DELETE', `/discarded${pathOf(videoId)}`, { signal })

export type TagChange = { add: string[]; remove: string[] }

/** Reads the tags before it writes them, because a list may be older than what another tab has saved. */
export async function changeTags(
  environment: Environment,
  videoId: string,
  { add, remove }: TagChange,
  signal?: AbortSignal,
): Promise<void> {
  const { tags } = await api<Video>(environment, 'GET', pathOf(videoId), { signal })
  const next = [...new Set([...tags.filter((tag) => !remove.includes(tag)), ...add])]
  if (next.join('\n') === tags.join('\n')) return
  await api<Video>(environment, 'PATCH', pathOf(videoId), { body: { tags: next }, signal })
}
