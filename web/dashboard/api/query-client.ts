import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { ApiProblem } from './problem.ts'
import { sessionQuery } from './session.ts'

/** Client errors have the same result every time, except "too many requests". */
const isWorthRetrying = (error: Error) =>
  !(error instanceof ApiProblem) || error.status >= 500 || error.status === 429

export function createQueryClient(): QueryClient {
  const onError = (error: Error) => {
    const isLoggedOut = client.getQueryData(sessionQuery.queryKey) === null
    // The session has ended, unless somebody has logged in since the request was sent.
    if (error instanceof ApiProblem && error.status === 401 && !isLoggedOut)
      client.fetchQuery({ ...sessionQuery, staleTime: 0 }).catch(() => {})
  }
  const client = new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    defaultOptions: {
      queries: {
        // The server tells what has changed (changes.ts), so nothing becomes stale by itself.
        staleTime: Number.POSITIVE_INFINITY,
        refetchOnWindowFocus: false,
        networkMode: 'always',
        retry: (count, error) => count < 2 && isWorthRetrying(error),
      },
      mutations: { networkMode: 'always', retry: false },
    },
  })
  return client
}
