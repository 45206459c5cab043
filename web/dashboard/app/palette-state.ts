import { useSyncExternalStore } from 'react'

let isOpen = false
const listeners = new Set<() => void>()

export function setPaletteOpen(next: boolean): void {
  isOpen = next
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const usePaletteState = () => [useSyncExternalStore(subscribe, () => isOpen), setPaletteOpen] as const
