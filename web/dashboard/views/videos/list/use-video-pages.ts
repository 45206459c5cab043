import { useQueries, useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { Environment } from '../../../api/client.ts'
import { type ListedVideo, pageSize, type VideoFilters, videosQuery } from '../../../api/videos.ts'

/** Pages that are only passed while scrolling quickly are not loaded. */
const settleMs = 120

type Range = { first: number; last: number }

export type VideoPages = {
  total: number | undefined
  error: Error | null
  /** Undefined while it is being loaded. */
  at(index: number): ListedVideo | undefined
  retry(): void
}

/** The videos from `first` to `last`, and the number of all that match. */
export function useVideoPages(environment: Environment, filters: VideoFilters, range: Range): VideoPages {
  const { first, last } = useSettled(range)
  // It is always observed, because it has the total, and what returns to the list needs its height at once.
  const start = useQuery(videosQuery(environment, filters, 0))
  const from = Math.max(1, Math.floor(first / pageSize))
  const to = Math.floor(last / pageSize)
  const pages = Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i)
  const results = useQueries({ queries: pages.map((page) => videosQuery(environment, filters, page)) })
  const loaded = new Map(results.map(({ data }, i) => [pages[i]!, data?.data]))
  return {
    total: start.data?.pagination.itemsTotal,
    error: start.error ?? results.find(({ error }) => error)?.error ?? null,
    at: (index) => {
      const page = Math.floor(index / pageSize)
      return (page === 0 ? start.data?.data : loaded.get(page))?.[index % pageSize]
    },
    retry: () => {
      for (const each of [start, ...results]) if (each.error) void each.refetch()
    },
  }
}

/** The range once it has not changed for a moment. */
function useSettled({ first, last }: Range): Range {
  const [settled, setSettled] = useState({ first, last })
  useEffect(() => {
    const timer = setTimeout(() => setSettled({ first, last }), settleMs)
    return () => clearTimeout(timer)
  }, [first, last])
  return settled
}
