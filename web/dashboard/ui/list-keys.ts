import { type RefObject, useEffect } from 'react'

type Shape = { count: number; columns: number }

/** Controls that use the arrow keys themselves. */
export const usesArrows =
  'input, select, textarea, [role=grid], [role=menu], [role=dialog], [role=tablist], [role=combobox]'

/** Where the keys of a grid lead to, or undefined. */
export function nextIndex(key: string, current: number, { count, columns }: Shape): number | undefined {
  const last = count - 1
  const steps: Record<string, number> = {
    ArrowRight: current + 1,
    ArrowLeft: current - 1,
    ArrowDown: current + columns,
    ArrowUp: current - columns,
    PageDown: current + 3 * columns,
    PageUp: current - 3 * columns,
    Home: 0,
    End: last,
  }
  const next = steps[key]
  if (next === undefined || last < 0) return undefined
  // Up and down do not change the column, except at the end, where the last row may be shorter.
  if (next < 0) return key === 'ArrowUp' || key === 'ArrowLeft' ? current : 0
  return Math.min(next, last)
}

/** The first link or button of each row of a table, or of each item of a list, without hidden ones. */
const itemsOf = (list: Element) =>
  [...list.querySelectorAll(':scope > li, :scope > tbody > tr')].flatMap((row) => {
    const item = row.querySelector<HTMLElement>('a[href], button:enabled')
    return item?.checkVisibility() ? item : []
  })

/** How many items are beside each other. */
function columnsOf(items: HTMLElement[]): number {
  const [first, ...others] = items.map((item) => item.getBoundingClientRect().top)
  return 1 + others.filter((top) => top === first).length
}

type Options = {
  /** There is one such list on a view. The key "down" leads to it from everywhere. */
  isMain?: boolean | undefined
}

/** The arrow keys move between the items of a list. */
export function useListKeys(list: RefObject<HTMLElement | null>, { isMain = false }: Options = {}): void {
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (!list.current || event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return
      const items = itemsOf(list.current)
      const current = items.indexOf(event.target as HTMLElement)
      const isEntered =
        isMain && event.key === 'ArrowDown' && !(event.target as Element).closest?.(usesArrows)
      const next =
        current >= 0
          ? nextIndex(event.key, current, { count: items.length, columns: columnsOf(items) })
          : isEntered
            ? 0
            : undefined
      if (next === undefined || !items[next]) return
      event.preventDefault()
      items[next].focus()
    }
    window.addEventListener('keydown', onKeyDown)
    return () => window.removeEventListener('keydown', onKeyDown)
  }, [list, isMain])
}
