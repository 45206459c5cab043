import { useEffect, useState } from 'react'

/** A time that is renewed while somebody can see the page, and as soon as it is visible again. */
export function usePulse(everyMs: number, isActive: boolean): number {
  const [atMs, setAt] = useState(Date.now)
  useEffect(() => {
    if (!isActive) return
    const pulse = () => {
      if (!document.hidden) setAt(Date.now())
    }
    const timer = setInterval(pulse, everyMs)
    document.addEventListener('visibilitychange', pulse)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', pulse)
    }
  }, [everyMs, isActive])
  return atMs
}
