import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api, apiPath, type Environment } from './client.ts'
import { nextPage } from './paging.ts'
import type { Import, ImportItem } from './schemas.ts'
import type { Page } from './types.ts'

export type { Import, ImportItem }
export type ServiceName = Import['service']
export type Part = Import['include'][number]
export type ItemState = ImportItem['state']

/** The body of `POST /imports`. */
export type ImportInput = {
  service: ServiceName
  url?: string
  location?: string
  region?: string
  key?: string
  secret?: string
  signingKeyId?: string
  signingKey?: string
  list?: { url: string }[]
  dryRun: true
  keepIds?: boolean
  include?: Part[]
  since?: string
  tags?: string[]
  limit?: number
  concurrency?: number
  bandwidth?: number
}

const pollMs = 2_000
/** The server does not announce the progress of imports. */
const isRunning = (each: Import) => each.state === 'running'

const pathOf = (importId: string) => `/imports/${encodeURIComponent(importId)}`

export const importsQuery = (environment: Environment) =>
  infiniteQueryOptions({
    queryKey: [environment, 'imports', 'list'],
    initialPageParam: 1,
    getNextPageParam: nextPage,
    queryFn: ({ pageParam, signal }) =>
      api<Page<Import>>(environment, 'GET', '/imports', {
        query: { currentPage: pageParam, pageSize: 25 },
        signal,
      }),
    refetchInterval: ({ state }) =>
      state.data?.pages.some(({ data }) => data.some(isRunning)) ? pollMs : false,
  })

export const importQuery = (environment: Environment, importId: string) =>
  queryOptions({
    queryKey: [environment, 'imports', importId],
    queryFn: ({ signal }) => api<Import>(environment, 'GET', pathOf(importId), { signal }),
    refetchInterval: ({ state }) => (state.data && isRunning(state.data) ? pollMs : false),
  })

type ItemFilter = { state: ItemState | undefined; page: number }

export const importItemsQuery = (environment: Environment, run: Import, { state, page }: ItemFilter) =>
  queryOptions({
    // The last change of a run ends the polling, so it has to reload the items.
    queryKey: [environment, 'imports', run.importId, 'items', state ?? 'all', page, run.state],
    queryFn: ({ signal }) =>
      api<Page<ImportItem>>(environment, 'GET', `${pathOf(run.importId)}/items`, {
        query: { state, currentPage: page, pageSize: 50 },
        signal,
      }),
    refetchInterval: isRunning(run) ? pollMs : false,
    placeholderData: (before) => before,
  })

export const createImport = (environment: Environment, body: ImportInput) =>
  api<Import>(environment, 'POST', '/imports', { body })

export const changeImport = (
  environment: Environment,
  importId: string,
  action: 'pause' | 'resume' | 'cancel',
) => api<Import>(environment, 'POST', `${pathOf(importId)}/${action}`)

export const reportUrl = (environment: Environment, importId: string) =>
  `/dashboard${apiPath(environment, `${pathOf(importId)}/report`)}`
