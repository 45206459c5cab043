import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  notFound,
  Outlet,
  redirect,
} from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { isEnvironment } from '../api/client.ts'
import { readHasHadSession, sessionQuery } from '../api/session.ts'
import { loadWithRetry } from '../ui/load-with-retry.ts'
import { readKeysSearch } from '../views/keys/keys-tab.ts'
import { readVideoSearch } from '../views/videos/filters/search-params.ts'
import { readViewersSearch } from '../views/viewers/viewers-search.ts'
import { rememberedEnvironment } from './environment.ts'
import { NotFound } from './not-found.tsx'
import { RouteError, RoutePending } from './route-states.tsx'
import { Shell } from './shell.tsx'

/** The router itself would reload the page if the code cannot be loaded, even offline. */
const viewOf = <T extends Record<K, () => ReactNode>, K extends string>(load: () => Promise<T>, name: K) =>
  lazyRouteComponent<T, K>(() => loadWithRetry(load), name)

const root = createRootRouteWithContext<{ client: QueryClient }>()({
  component: Outlet,
  notFoundComponent: NotFound,
})

const index = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/$environment', params: { environment: rememberedEnvironment() }, replace: true })
  },
})

type LoginSearch = { next?: string | undefined; ended?: true | undefined }

const login = createRoute({
  getParentRoute: () => root,
  path: 'login',
  validateSearch: ({ next, ended }: Record<string, unknown>): LoginSearch => ({
    // Only pages of the dashboard: another address could be a trap.
    ...(typeof next === 'string' && /^\/(production|sandbox)(\/|$|\?)/.test(next) && { next }),
    ...(ended === true && { ended }),
  }),
  component: viewOf(() => import('../views/login/login-view.tsx'), 'LoginView'),
})

/** Everything but the login belongs to an environment, which is part of the URL. */
const environment = createRoute({
  getParentRoute: () => root,
  path: '$environment',
  beforeLoad: async ({ params, context: { client }, location }) => {
    if (!isEnvironment(params.environment)) throw notFound()
    const session = await client.ensureQueryData(sessionQuery)
    if (!session)
      throw redirect({
        to: '/login',
        search: { next: location.href, ...(readHasHadSession() && { ended: true as const }) },
      })
  },
  component: Shell,
  notFoundComponent: NotFound,
})

const home = createRoute({
  getParentRoute: () => environment,
  path: '/',
  component: viewOf(() => import('../views/home/home-view.tsx'), 'HomeView'),
})

const videos = createRoute({
  getParentRoute: () => environment,
  path: 'videos',
  validateSearch: readVideoSearch,
  component: viewOf(() => import('../views/videos/videos-view.tsx'), 'VideosView'),
})

const video = createRoute({
  getParentRoute: () => environment,
  path: 'videos/$videoId',
  validateSearch: ({ tab }: Record<string, unknown>): { tab?: string | undefined } =>
    typeof tab === 'string' ? { tab } : {},
  component: viewOf(() => import('../views/videos/video/video-view.tsx'), 'VideoView'),
})

const imports = createRoute({
  getParentRoute: () => environment,
  path: 'videos/imports',
  component: viewOf(() => import('../views/videos/imports/imports-view.tsx'), 'ImportsView'),
})

const importRun = createRoute({
  getParentRoute: () => environment,
  path: 'videos/imports/$importId',
  component: viewOf(() => import('../views/videos/imports/import/import-view.tsx'), 'ImportView'),
})

const live = createRoute({
  getParentRoute: () => environment,
  path: 'live',
  component: viewOf(() => import('../views/live/live-view.tsx'), 'LiveView'),
})

const liveStream = createRoute({
  getParentRoute: () => environment,
  path: 'live/$liveStreamId',
  component: viewOf(() => import('../views/live/live-stream/live-stream-view.tsx'), 'LiveStreamView'),
})

const viewers = createRoute({
  getParentRoute: () => environment,
  path: 'viewers',
  validateSearch: readViewersSearch,
  component: viewOf(() => import('../views/viewers/viewers-view.tsx'), 'ViewersView'),
})

const webhooks = createRoute({
  getParentRoute: () => environment,
  path: 'webhooks',
  component: viewOf(() => import('../views/webhooks/webhooks-view.tsx'), 'WebhooksView'),
})

const webhook = createRoute({
  getParentRoute: () => environment,
  path: 'webhooks/$webhookId',
  component: viewOf(() => import('../views/webhooks/webhook/webhook-view.tsx'), 'WebhookView'),
})

const themes = createRoute({
  getParentRoute: () => environment,
  path: 'themes',
  component: viewOf(() => import('../views/themes/themes-view.tsx'), 'ThemesView'),
})

const theme = createRoute({
  getParentRoute: () => environment,
  path: 'themes/$playerId',
  component: viewOf(() => import('../views/themes/theme/theme-view.tsx'), 'ThemeView'),
})

const watermarks = createRoute({
  getParentRoute: () => environment,
  path: 'watermarks',
  component: viewOf(() => import('../views/watermarks/watermarks-view.tsx'), 'WatermarksView'),
})

const keys = createRoute({
  getParentRoute: () => environment,
  path: 'keys',
  validateSearch: readKeysSearch,
  component: viewOf(() => import('../views/keys/keys-view.tsx'), 'KeysView'),
})

const system = createRoute({
  getParentRoute: () => environment,
  path: 'system',
  component: viewOf(() => import('../views/system/system-view.tsx'), 'SystemView'),
})

const routes = root.addChildren([
  index,
  login,
  environment.addChildren([
    home,
    videos,
    video,
    imports,
    importRun,
    live,
    liveStream,
    viewers,
    webhooks,
    webhook,
    themes,
    theme,
    watermarks,
    keys,
    system,
  ]),
])

export function createDashboardRouter(client: QueryClient) {
  return createRouter({
    routeTree: routes,
    basepath: '/dashboard',
    context: { client },
    defaultPreload: 'intent',
    defaultPreloadStaleTime: 0,
    defaultPendingComponent: RoutePending,
    defaultPendingMs: 300,
    defaultErrorComponent: RouteError,
    defaultNotFoundComponent: NotFound,
    scrollRestoration: true,
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createDashboardRouter>
  }
}
