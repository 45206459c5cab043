import { useSyncExternalStore } from 'react'

/** State that several components share, or that is changed outside of components. */
export type Store<T> = {
  read(): T
  set(value: T): void
  subscribe(listener: () => void): () => void
}

export function createStore<T>(value: T): Store<T> {
  let current = value
  const listeners = new Set<() => void>()
  return {
    read: () => current,
    set(next) {
      current = next
      for (const listener of listeners) listener()
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

/** The component is rendered again when the value changes. */
export const useStore = <T>({ subscribe, read }: Store<T>): T => useSyncExternalStore(subscribe, read)

/** The component is rendered again only when this part of the value changes. */
export const useStorePart = <T, Part>({ subscribe, read }: Store<T>, select: (value: T) => Part): Part =>
  useSyncExternalStore(subscribe, () => select(read()))
