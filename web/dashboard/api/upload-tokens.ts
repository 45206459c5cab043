import { infiniteQueryOptions } from '@tanstack/react-query'
import { api, type Environment } from './client.ts'
import { nextPage } from './paging.ts'
import type { UploadToken } from './schemas.ts'
import type { Page } from './types.ts'

export type { UploadToken }

export const uploadTokensQuery = (environment: Environment) =>
  infiniteQueryOptions({
    queryKey: [environment, 'upload-tokens', 'list'],
    initialPageParam: 1,
    getNextPageParam: nextPage,
    queryFn: ({ pageParam, signal }) =>
      api<Page<UploadToken>>(environment, 'GET', '/upload-tokens', {
        query: { currentPage: pageParam, pageSize: 100 },
        signal,
      }),
  })

/** A `ttl` of 0 seconds is no limit. Without `videoId`, the token creates videos. */
export const createUploadToken = (environment: Environment, body: { ttl: number; videoId?: string }) =>
  api<UploadToken>(environment, 'POST', '/upload-tokens', { body })

export const deleteUploadToken = (environment: Environment, token: string) =>
  api<void>(environment, 'DELETE', `/upload-tokens/${encodeURIComponent(token)}`)
