import { useSyncExternalStore } from 'react'

/** Rows beyond the edges of the screen, so that slow scrolling shows no gaps. */
const overscan = 2
/** Nothing that is current is hidden below the bars at the edges. */
const [paddingStart, paddingEnd] = [120, 80]

type RowsOptions = {
  count: number
  height: number
  /** The distance from the top of the document. */
  top: number
  /** The row with the focus stays, otherwise the keyboard would lose its place. */
  current: number
}

/**
 * The rows that are visible or about to be. All rows have the same height, so this needs no TanStack Virtual, which is
 * too large for a first view.
 */
export function useRows({ count, height, top, current }: RowsOptions) {
  const rowAt = (y: number) => Math.max(0, Math.min(count - 1, Math.floor((y - top) / height)))
  // Numbers, so that scrolling within a row renders nothing.
  const first = useSyncExternalStore(subscribe, () => Math.max(0, rowAt(window.scrollY) - overscan))
  const last = useSyncExternalStore(subscribe, () =>
    Math.min(count - 1, rowAt(window.scrollY + window.innerHeight) + overscan),
  )
  const visible = Array.from({ length: last - first + 1 }, (_, i) => first + i)
  return { rows: [...new Set([...visible, Math.max(0, Math.min(current, count - 1))])], first, last }
}

function subscribe(listener: () => void): () => void {
  window.addEventListener('scroll', listener, { passive: true })
  window.addEventListener('resize', listener)
  return () => {
    window.removeEventListener('scroll', listener)
    window.removeEventListener('resize', listener)
  }
}

/** Scrolls as little as possible. `start` is the distance of a row from the top of the document. */
export function scrollToRow(start: number, height: number): void {
  const { scrollY, innerHeight } = window
  const lowest = start - paddingStart
  const highest = start + height + paddingEnd - innerHeight
  if (scrollY > lowest) window.scrollTo({ top: lowest })
  else if (scrollY < highest) window.scrollTo({ top: highest })
}
