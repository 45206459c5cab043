import '../style/tokens.css'
import '../style/base.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { setNonce } from 'get-nonce'
import { lazy, StrictMode, Suspense } from 'react'
import { createRoot } from 'react-dom/client'
import { createQueryClient } from '../api/query-client.ts'
import { sessionQuery } from '../api/session.ts'
import { createDashboardRouter } from './router.tsx'
import { applyTheme, readTheme } from './theme.ts'

// Dialogs add a style that locks scrolling. The Content-Security-Policy allows it by this nonce.
const nonce = document.querySelector<HTMLMetaElement>('meta[name=csp-nonce]')?.content
if (nonce) setNonce(nonce)
applyTheme(readTheme())

const Toasts = lazy(() => import('../ui/toasts.tsx').then(({ Toasts }) => ({ default: Toasts })))

const client = createQueryClient()
const router = createDashboardRouter(client)
// The session may end at any request. The router then shows the login.
client.getQueryCache().subscribe(({ type, query }) => {
  if (type === 'updated' && query.queryKey[0] === sessionQuery.queryKey[0] && query.state.data === null)
    void router.invalidate()
})

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={client}>
      <RouterProvider router={router} />
      <Suspense>
        <Toasts />
      </Suspense>
    </QueryClientProvider>
  </StrictMode>,
)
