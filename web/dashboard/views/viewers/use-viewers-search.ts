import { useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useEnvironment } from '../../app/environment.ts'
import { selectionsOf } from './metrics.ts'
import type { ViewersSearch } from './viewers-search.ts'

/** What the URL selects, and a function that changes parts of it. */
export function useViewersSearch() {
  const search: ViewersSearch = useSearch({ from: '/$environment/viewers' })
  const environment = useEnvironment()
  const navigate = useNavigate({ from: '/$environment/viewers' })
  const selections = useMemo(() => selectionsOf(search), [search])
  const change = (part: ViewersSearch) =>
    void navigate({
      to: '/$environment/viewers',
      params: { environment },
      search: (current) => ({ ...current, ...part }),
      resetScroll: false,
    })
  return { environment, search, selections, change }
}
