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
import { isEnvironment } from '../api/client.ts'
import { loadCode } from '../api/load-code.ts'
import { readHasHadSession, sessionQuery } from '../api/session.ts'
import { ErrorState, Loading } from '../ui/states.tsx'
import { readVideoSearch } from '../views/videos/search-params.ts'
import { readViewersSearch } from '../views/viewers/viewers-search.ts'
import { rememberedEnvironment } from './environment.ts'
import { NotFound } from './not-found.tsx'
import { Shell } from './shell.tsx'

/** The code of a view is loaded when the view is opened. */
const lazyView: typeof lazyRouteComponent = (load, name) => lazyRouteComponent(() => loadCode(load), name)

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
  component: lazyView(() => import('../views/login/login-view.tsx'), 'LoginView'),
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
  component: lazyView(() => import('../views/home/home-view.tsx'), 'HomeView'),
})

const videos = createRoute({
  getParentRoute: () => environment,
  path: 'videos',
  validateSearch: readVideoSearch,
  component: lazyView(() => import('../views/videos/videos-view.tsx'), 'VideosView'),
})

const video = createRoute({
  getParentRoute: () => environment,
  path: 'videos/$videoId',
  validateSearch: ({ tab }: Record<string, unknown>): { tab?: string | undefined } =>
    typeof tab === 'string' ? { tab } : {},
  component: lazyView(() => import('../views/video/video-view.tsx'), 'VideoView'),
})

const live = createRoute({
  getParentRoute: () => environment,
  path: 'live',
  component: lazyView(() => import('../views/live/live-view.tsx'), 'LiveView'),
})

const liveStream = createRoute({
  getParentRoute: () => environment,
  path: 'live/$liveStreamId',
  component: lazyView(() => import('../views/live-stream/live-stream-view.tsx'), 'LiveStreamView'),
})

const viewers = createRoute({
  getParentRoute: () => environment,
  path: 'viewers',
  validateSearch: readViewersSearch,
  component: lazyView(() => import('../views/viewers/viewers-view.tsx'), 'ViewersView'),
})

const webhooks = createRoute({
  getParentRoute: () => environment,
  path: 'webhooks',
  component: lazyView(() => import('../views/webhooks/webhooks-view.tsx'), 'WebhooksView'),
})

const webhook = createRoute({
  getParentRoute: () => environment,
  path: 'webhooks/$webhookId',
  component: lazyView(() => import('../views/webhook/webhook-view.tsx'), 'WebhookView'),
})

const themes = createRoute({
  getParentRoute: () => environment,
  path: 'themes',
  component: lazyView(() => import('../views/themes/themes-view.tsx'), 'ThemesView'),
})

const theme = createRoute({
  getParentRoute: () => environment,
  path: 'themes/$playerId',
  component: lazyView(() => import('../views/theme/theme-view.tsx'), 'ThemeView'),
})

const keys = createRoute({
  getParentRoute: () => environment,
  path: 'keys',
  component: lazyView(() => import('../views/keys/keys-view.tsx'), 'KeysView'),
})

const system = createRoute({
  getParentRoute: () => environment,
  path: 'system',
  component: lazyView(() => import('../views/system/system-view.tsx'), 'SystemView'),
})

const routes = root.addChildren([
  index,
  login,
  environment.addChildren([
    home,
    videos,
    video,
    live,
    liveStream,
    viewers,
    webhooks,
    webhook,
    themes,
    theme,
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
    defaultPendingComponent: Loading,
    defaultPendingMs: 300,
    defaultErrorComponent: ({ error, reset }) => (
      <ErrorState error={error instanceof Error ? error : new Error(String(error))} onRetry={reset} />
    ),
    defaultNotFoundComponent: NotFound,
    scrollRestoration: true,
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createDashboardRouter>
  }
}
