import { type RefObject, useLayoutEffect, useState } from 'react'

export const layouts = ['grid', 'list'] as const
export type Layout = (typeof layouts)[number]

const storageKey = 'kinora-videos-layout'

export const readLayout = (): Layout => (localStorage.getItem(storageKey) === 'list' ? 'list' : 'grid')
export const rememberLayout = (layout: Layout) => localStorage.setItem(storageKey, layout)

/** Rows have the same height, so the place of each one is known without rendering it. */
export type Geometry = {
  columns: number
  rowHeight: number
  /** The distance from the top of the document. */
  top: number
}

const [minCardWidth, minCardWidthSmall] = [230, 150]
/** On a wide screen, larger cards say more than more cards. */
const maxColumns = 7
const gap = 16
/** The text below a thumbnail. */
const captionHeight = 62
const listRowHeight = 68

function computeGeometry(layout: Layout, width: number, top: number): Geometry {
  if (layout === 'list') return { columns: 1, rowHeight: listRowHeight, top }
  const minWidth = width < 2 * minCardWidth + gap ? minCardWidthSmall : minCardWidth
  const columns = Math.min(maxColumns, Math.max(1, Math.floor((width + gap) / (minWidth + gap))))
  const cardWidth = (width - (columns - 1) * gap) / columns
  return { columns, rowHeight: Math.round((cardWidth * 9) / 16) + captionHeight + gap, top }
}

/** Follows the size of the element. */
export function useGeometry(element: RefObject<HTMLElement | null>, layout: Layout): Geometry {
  const [size, setSize] = useState({ width: 1_000, top: 0 })
  useLayoutEffect(() => {
    const measure = () => {
      const { width, top } = element.current!.getBoundingClientRect()
      const next = { width, top: Math.round(top + window.scrollY) }
      setSize((old) => (old.width === next.width && old.top === next.top ? old : next))
    }
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element.current!)
    // What is above may become higher.
    observer.observe(document.body)
    return () => observer.disconnect()
  }, [element])
  return computeGeometry(layout, size.width, size.top)
}
