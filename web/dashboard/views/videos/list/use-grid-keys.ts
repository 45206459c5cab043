import { type FocusEvent, type KeyboardEvent, type RefObject, useEffect, useRef, useState } from 'react'
import { nextIndex, usesArrows } from '../../../ui/list-keys.ts'

/** One cell has the focus, and the arrow keys move it. The cells have the attribute `data-index`. */
export function useGridKeys(
  grid: RefObject<HTMLElement | null>,
  shape: { count: number; columns: number },
  scrollTo: (index: number) => void,
) {
  const [index, setIndex] = useState(0)
  const current = Math.max(0, Math.min(index, shape.count - 1))
  const wanted = useRef<number>(undefined)
  // The cell may be rendered only after the page has scrolled.
  useEffect(() => {
    if (wanted.current === undefined) return
    const cell = grid.current?.querySelector<HTMLElement>(`[data-index="${wanted.current}"]`)
    if (!cell) return
    wanted.current = undefined
    cell.focus({ preventScroll: true })
  })
  const move = (event: { key: string; preventDefault(): void }) => {
    const next = nextIndex(event.key, current, shape)
    if (next === undefined) return
    event.preventDefault()
    wanted.current = next
    setIndex(next)
    scrollTo(next)
  }
  const enter = useRef(move)
  enter.current = (event) => {
    event.preventDefault()
    wanted.current = current
    setIndex(current)
    grid.current?.querySelector<HTMLElement>(`[data-index="${current}"]`)?.focus()
  }
  useEffect(() => {
    const onKeyDown = (event: globalThis.KeyboardEvent) => {
      if (event.key !== 'ArrowDown' || event.altKey || event.ctrlKey || event.metaKey) return
      // Some controls use the arrows themselves.
      const isTaken = (event.target as Element).closest?.(usesArrows)
      if (!isTaken) enter.current(event)
    }
    window.addEventListener('keydown', onKeyDown)
    return () => window.removeEventListener('keydown', onKeyDown)
  }, [])
  return {
    current,
    onKeyDown: (event: KeyboardEvent) => {
      const isCell = event.target instanceof HTMLElement && event.target.dataset.index !== undefined
      if (isCell && !event.altKey && !event.ctrlKey && !event.metaKey) move(event)
    },
    onFocus: (event: FocusEvent) => {
      const cell = event.target.closest<HTMLElement>('[data-index]')
      if (cell) setIndex(Number(cell.dataset.index))
    },
  }
}
