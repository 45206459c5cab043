import { useCallback, useMemo, useState } from 'react'

/** The selected videos, by id. `all` means everything that matches the filters. */
export type Selection = {
  ids: ReadonlySet<string>
  isAll: boolean
  count: number
  has(videoId: string): boolean
  toggle(videoId: string): void
  add(videoIds: string[]): void
  selectAll(): void
  clear(): void
}

const none: ReadonlySet<string> = new Set()

/** `total` is the number of videos that match. The selection of one search does not survive another. */
export function useSelection(total: number, searchKey: string): Selection {
  const [state, setState] = useState({ searchKey, ids: none, isAll: false })
  const current = state.searchKey === searchKey ? state : { searchKey, ids: none, isAll: false }
  const change = useCallback(
    (read: (ids: Set<string>) => void) =>
      setState((old) => {
        const ids = new Set(old.searchKey === searchKey ? old.ids : none)
        read(ids)
        return { searchKey, ids, isAll: false }
      }),
    [searchKey],
  )
  return useMemo(
    () => ({
      ids: current.ids,
      isAll: current.isAll,
      count: current.isAll ? total : current.ids.size,
      has: (videoId) => current.isAll || current.ids.has(videoId),
      // Which ones "all" are is not known here, so one of them cannot be taken away.
      toggle: (videoId) => change((ids) => current.isAll || ids.delete(videoId) || ids.add(videoId)),
      add: (videoIds) =>
        change((ids) => {
          for (const each of videoIds) ids.add(each)
        }),
      selectAll: () => setState({ searchKey, ids: none, isAll: true }),
      clear: () => setState({ searchKey, ids: none, isAll: false }),
    }),
    [current.ids, current.isAll, total, searchKey, change],
  )
}
