import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import { api, type Environment } from './client.ts'
import { nextPage } from './paging.ts'
import type { Broadcast, LiveStream, NewStudioToken, StudioToken } from './schemas.ts'
import type { Page } from './types.ts'

export type { Broadcast, LiveStream, StudioToken }
export type Restream = LiveStream['restreams'][number]
export type RestreamState = Broadcast['restreams'][number]
export type BroadcastHealth = NonNullable<Broadcast['health']>

export type LiveStreamInput = Partial<
  Pick<
    LiveStream,
    'name' | 'public' | 'record' | 'playerId' | 'restreams' | 'metadata' | 'showViewers' | 'srtPassphrase'
  >
>

const pageSize = 48

/** Those that are on air come first, then the newest. */
export const liveStreamsQuery = (environment: Environment, name: string) =>
  infiniteQueryOptions({
    queryKey: [environment, 'live-streams', 'list', { name }],
    initialPageParam: 1,
    queryFn: ({ pageParam, signal }) =>
      api<Page<LiveStream>>(environment, 'GET', '/live-streams', {
        query: { name, sortBy: 'broadcasting', sortOrder: 'desc', currentPage: pageParam, pageSize },
        signal,
      }),
    getNextPageParam: nextPage,
  })

export const liveStreamQuery = (environment: Environment, id: string) =>
  queryOptions({
    queryKey: [environment, 'live-streams', id, 'details'],
    queryFn: ({ signal }) => api<LiveStream>(environment, 'GET', pathOf(id), { signal }),
  })

/**
 * The URLs of a private live stream are new in each response, and the first who opens one uses it up. These stay until
 * others are asked for. `place` is the part of the page.
 */
export const newLiveLinkQuery = (environment: Environment, id: string, place: 'share' | 'preview') =>
  queryOptions({
    queryKey: ['live-link', environment, id, place],
    gcTime: 0,
    queryFn: async ({ signal }) => (await api<LiveStream>(environment, 'GET', pathOf(id), { signal })).assets,
  })

const broadcastsPerPage = 10

export const broadcastsQuery = (environment: Environment, id: string, page = 1) =>
  queryOptions({
    queryKey: [environment, 'live-streams', id, 'broadcasts', page],
    queryFn: ({ signal }) =>
      api<Page<Broadcast>>(environment, 'GET', `${pathOf(id)}/broadcasts`, {
        query: { currentPage: page, pageSize: broadcastsPerPage },
        signal,
      }),
  })

/** Counting viewers reads all their sessions, so it is not done every second. */
const viewersEveryMs = 10_000

/**
 * The number of current viewers. It is counted again when viewers report, and also when they have stopped to: `now` is
 * the time of the last change of the stream, whose health changes every second.
 */
export const viewersQuery = (environment: Environment, id: string, now: number) =>
  queryOptions({
    queryKey: [environment, 'sessions', 'list', 'live', id, Math.floor(now / viewersEveryMs)],
    gcTime: viewersEveryMs,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) =>
      (
        await api<{ data: number }>(environment, 'GET', '/data/metrics/ccv/live', {
          query: { filterBy: { mediaId: id } },
          signal,
        })
      ).data,
  })

const pathOf = (id: string) => `/live-streams/${encodeURIComponent(id)}`

export const createLiveStream = (environment: Environment, body: LiveStreamInput) =>
  api<LiveStream>(environment, 'POST', '/live-streams', { body })

export const updateLiveStream = (environment: Environment, id: string, body: LiveStreamInput) =>
  api<LiveStream>(environment, 'PATCH', pathOf(id), { body })

export const deleteLiveStream = (environment: Environment, id: string) =>
  api<void>(environment, 'DELETE', pathOf(id))

export const endBroadcast = (environment: Environment, id: string) =>
  api<void>(environment, 'PUT', `${pathOf(id)}/complete`)

const studioTokensEveryMs = 10_000

/** Those with which somebody can still broadcast. Nothing announces that one was opened. */
export const studioTokensQuery = (environment: Environment, id: string) =>
  infiniteQueryOptions({
    queryKey: [environment, 'live-streams', id, 'studio-tokens'],
    refetchInterval: studioTokensEveryMs,
    initialPageParam: 1,
    getNextPageParam: nextPage,
    queryFn: ({ pageParam, signal }) =>
      api<Page<StudioToken>>(environment, 'GET', `${pathOf(id)}/studio-tokens`, {
        query: { currentPage: pageParam, pageSize: 10 },
        signal,
      }),
  })

/** `ttl`: the seconds within which the page from which a browser broadcasts has to be opened. */
export const createStudioToken = (environment: Environment, id: string, ttl: number) =>
  api<NewStudioToken>(environment, 'POST', `${pathOf(id)}/studio-tokens`, { body: { ttl } })

export const deleteStudioToken = (environment: Environment, id: string, studioTokenId: string) =>
  api<void>(environment, 'DELETE', `${pathOf(id)}/studio-tokens/${studioTokenId}`)

export const rotateStreamKey = (environment: Environment, id: string) =>
  api<LiveStream>(environment, 'POST', `${pathOf(id)}/stream-key`)

export const retryRecordings = (environment: Environment, id: string, broadcastId: string) =>
  api<Broadcast>(environment, 'POST', `${pathOf(id)}/broadcasts/${broadcastId}/retry`)

export function uploadLiveThumbnail(environment: Environment, id: string, file: File) {
  const body = new FormData()
  body.append('file', file)
  return api<LiveStream>(environment, 'POST', `${pathOf(id)}/thumbnail`, { body })
}

export const deleteLiveThumbnail = (environment: Environment, id: string) =>
  api<LiveStream>(environment, 'DELETE', `${pathOf(id)}/thumbnail`)
