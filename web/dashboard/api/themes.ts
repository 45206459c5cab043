import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { api, type Environment } from './client.ts'
import { nextPage } from './paging.ts'
import type { PlayerTheme } from './schemas.ts'
import type { Page } from './types.ts'

export type { PlayerTheme }

/** In the order of the form. */
export const themeColors = [
  'text',
  'link',
  'linkHover',
  'linkActive',
  'trackPlayed',
  'trackUnplayed',
  'trackBackground',
  'backgroundTop',
  'backgroundText',
  'backgroundBottom',
] as const
export type ThemeColor = (typeof themeColors)[number]

export const themeOptions = [
  'enableControls',
  'enableApi',
  'forceAutoplay',
  'forceLoop',
  'hideTitle',
] as const
type ThemeOption = (typeof themeOptions)[number]

/** What the form changes. */
export type ThemeFields = Pick<PlayerTheme, 'name' | ThemeColor | ThemeOption>

export const themeFieldsOf = (theme: PlayerTheme) =>
  Object.fromEntries(
    (['name', ...themeColors, ...themeOptions] as const).map((field) => [field, theme[field]]),
  ) as ThemeFields

export const themesQuery = (environment: Environment) =>
  infiniteQueryOptions({
    queryKey: [environment, 'players', 'list'],
    initialPageParam: 1,
    getNextPageParam: nextPage,
    queryFn: ({ pageParam, signal }) =>
      api<Page<PlayerTheme>>(environment, 'GET', '/players', {
        query: { currentPage: pageParam, pageSize: 100, sortBy: 'createdAt', sortOrder: 'desc' },
        signal,
      }),
  })

const pathOf = (playerId: string) => `/players/${encodeURIComponent(playerId)}`

const loadTheme = (environment: Environment, playerId: string, signal?: AbortSignal) =>
  api<PlayerTheme>(environment, 'GET', pathOf(playerId), { signal })

export const themeQuery = (environment: Environment, playerId: string) =>
  queryOptions({
    queryKey: [environment, 'players', playerId],
    queryFn: ({ signal }) => loadTheme(environment, playerId, signal),
  })

export const createTheme = (environment: Environment, body: Partial<ThemeFields>) =>
  api<PlayerTheme>(environment, 'POST', '/players', { body })

export const saveTheme = (environment: Environment, playerId: string, body: Partial<ThemeFields>) =>
  api<PlayerTheme>(environment, 'PATCH', pathOf(playerId), { body })

export const deleteTheme = (environment: Environment, playerId: string) =>
  api<void>(environment, 'DELETE', pathOf(playerId))

export function uploadLogo(environment: Environment, playerId: string, file: File, link: string) {
  const body = new FormData()
  if (link) body.append('link', link)
  body.append('file', file)
  return api<PlayerTheme>(environment, 'POST', `${pathOf(playerId)}/logo`, { body })
}

export const deleteLogo = (environment: Environment, playerId: string) =>
  api<void>(environment, 'DELETE', `${pathOf(playerId)}/logo`)
