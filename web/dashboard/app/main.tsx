import '@fontsource-variable/geist/wght.css'
import '../style/tokens.css'
import '../style/base.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { setNonce } from 'get-nonce'
import { StrictMode, Suspense } from 'react'
import { createRoot } from 'react-dom/client'
import { applyTheme, readTheme } from '../../shared/theme.ts'
import { createQueryClient } from '../api/query-client.ts'
import { lazyWithRetry } from '../ui/load-with-retry.ts'
import { createDashboardRouter } from './router.tsx'

// Dialogs add a style that locks scrolling. The Content-Security-Policy allows it by this nonce.
const nonce = document.querySelector<HTMLMetaElement>('meta[name=csp-nonce]')?.content
if (nonce) setNonce(nonce)
applyTheme(readTheme())

const Toasts = lazyWithRetry(() => import('../ui/toasts.tsx'))

const client = createQueryClient()
const router = createDashboardRouter(client)

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
