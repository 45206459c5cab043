import { useState } from 'react'

/**
 * Keeps the first value until the key changes. Every response has new URLs for what is private, and a player or image
 * must not be loaded again because of that.
 */
export function useStable<T>(value: T, key: string): T {
  const [kept, setKept] = useState({ value, key })
  if (kept.key === key) return kept.value
  setKept({ value, key })
  return value
}
