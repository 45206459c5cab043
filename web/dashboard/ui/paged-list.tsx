import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Page } from '../api/types.ts'
import { messages } from '../messages/messages.ts'
import { Button } from './button.tsx'
import { ErrorState, Loading } from './states.tsx'

type PagedListProps<T> = {
  query: UseInfiniteQueryResult<InfiniteData<Page<T>>>
  /** What is shown if there is nothing. */
  empty: ReactNode
  children(rows: T[]): ReactNode
}

/** A list that is loaded page by page. */
export function PagedList<T>({ query, empty, children }: PagedListProps<T>) {
  const { data, error, isPending, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = query
  if (isPending) return <Loading />
  if (!data) return <ErrorState error={error!} onRetry={() => refetch()} />
  const rows = data.pages.flatMap((page) => page.data)
  return (
    <>
      {rows.length === 0 ? empty : children(rows)}
      {hasNextPage && (
        <div>
          <Button onClick={() => fetchNextPage()} disabled={isFetchingNextPage}>
            {messages.pages.more}
          </Button>
        </div>
      )}
    </>
  )
}
