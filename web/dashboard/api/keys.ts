import { queryOptions } from '@tanstack/react-query'
import { type Environment, request } from './client.ts'
import type { ApiKey, NewApiKey } from './types.ts'

export const keysQuery = (environment: Environment) =>
  queryOptions({
    queryKey: [environment, 'keys', 'list'],
    queryFn: async ({ signal }) =>
      (await request<{ data: ApiKey[] }>('GET', `/keys/${environment}`, { signal })).data,
  })

export const createKey = (environment: Environment, name: string) =>
  request<NewApiKey>('POST', `/keys/${environment}`, { body: { name } })

export const revokeKey = (environment: Environment, keyId: string) =>
  request<void>('DELETE', `/keys/${environment}/${keyId}`)
