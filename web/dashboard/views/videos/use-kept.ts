import { useState } from 'react'

/** Keeps the first value until the key changes. */
export function useKept<T>(value: T, key: string): T {
  const [kept, setKept] = useState({ value, key })
  if (kept.key === key) return kept.value
  setKept({ value, key })
  return value
}
