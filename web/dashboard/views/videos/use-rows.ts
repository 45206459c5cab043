import { defaultRangeExtractor, useWindowVirtualizer } from '@tanstack/react-virtual'
import { useEffect } from 'react'

const overscan = 2

type RowsOptions = {
  count: number
  height: number
  /** The distance from the top of the document. */
  top: number
  /** The row with the focus stays, otherwise the keyboard would lose its place. */
  current: number
  /** Whether the focus is on its way to the current row. */
  isMoving(): boolean
}

/** The rows that are visible or about to be. */
export function useRows({ count, height, top, current, isMoving }: RowsOptions) {
  const virtualizer = useWindowVirtualizer({
    count,
    estimateSize: () => height,
    scrollMargin: top,
    // Nothing that is current is hidden below the bars at the edges.
    scrollPaddingStart: 120,
    scrollPaddingEnd: 80,
    overscan,
    rangeExtractor: (range) => [...new Set([...defaultRangeExtractor(range), Math.min(current, count - 1)])],
  })
  // Another height moves every row.
  useEffect(() => virtualizer.measure(), [virtualizer, height])
  useEffect(() => {
    if (isMoving()) virtualizer.scrollToIndex(current)
  })
  const { startIndex = 0, endIndex = 0 } = virtualizer.range ?? {}
  return {
    rows: virtualizer.getVirtualItems(),
    totalHeight: virtualizer.getTotalSize(),
    first: Math.max(0, startIndex - overscan),
    last: Math.min(count - 1, endIndex + overscan),
  }
}
