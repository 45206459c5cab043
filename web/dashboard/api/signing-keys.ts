import { infiniteQueryOptions } from '@tanstack/react-query'
import { api, type Environment } from './client.ts'
import { nextPage } from './paging.ts'
import type { NewSigningKey, SigningKey } from './schemas.ts'
import type { Page } from './types.ts'

export type { NewSigningKey, SigningKey }

export const signingKeysQuery = (environment: Environment) =>
  infiniteQueryOptions({
    queryKey: [environment, 'signing-keys', 'list'],
    initialPageParam: 1,
    getNextPageParam: nextPage,
    queryFn: ({ pageParam, signal }) =>
      api<Page<SigningKey>>(environment, 'GET', '/signing-keys', {
        query: { currentPage: pageParam, pageSize: 100 },
        signal,
      }),
  })

export const createSigningKey = (environment: Environment, name: string) =>
  api<NewSigningKey>(environment, 'POST', '/signing-keys', { body: { name } })

export const deleteSigningKey = (environment: Environment, signingKeyId: string) =>
  api<void>(environment, 'DELETE', `/signing-keys/${encodeURIComponent(signingKeyId)}`)
