import { useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import { OfflineError } from '../api/problem.ts'
import { messages } from '../messages/messages.ts'
import { useLoadProblem } from '../ui/load-with-retry.ts'
import { ErrorState, Loading } from '../ui/states.tsx'

const retryMs = 5_000

/** What takes the place of a view while its code is loaded. */
export function RoutePending() {
  const problem = useLoadProblem()
  if (problem === undefined) return <Loading />
  if (problem === 'offline') return <ErrorState error={new OfflineError()} />
  return <ErrorState error={new Error(messages.states[problem])} onRetry={() => location.reload()} />
}

/** What takes the place of a view that cannot be opened, or has failed. */
export function RouteError({ error }: { error: unknown }) {
  const router = useRouter()
  useEffect(() => {
    if (!(error instanceof OfflineError)) return
    const retry = () => void router.invalidate()
    const timer = setTimeout(retry, retryMs)
    window.addEventListener('online', retry)
    return () => {
      clearTimeout(timer)
      window.removeEventListener('online', retry)
    }
  }, [error, router])
  return (
    <ErrorState
      error={error instanceof Error ? error : new Error(String(error))}
      onRetry={() => router.invalidate()}
    />
  )
}
