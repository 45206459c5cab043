import { fetchConfig } from '../config.ts'
import type { PlayerConfig } from '../player-config.ts'
import { retryDelayMs } from '../stream/connection.ts'

/** The service responds when the state changes, or after 20 s. A proxy may respond earlier. */
const minPollMs = 2000
/** A response that takes longer is lost. */
const maxPollMs = 60_000

/** Follows a live stream. The listener gets every response of the service. */
export async function watchLive(
  config: PlayerConfig,
  signal: AbortSignal,
  listener: (next: PlayerConfig) => void,
): Promise<void> {
  let current = config
  let failures = 0
  while (!signal.aborted && current.live) {
    const { version } = current.live
    const startMs = performance.now()
    try {
      const url = new URL(current.self, location.origin)
      url.searchParams.set('wait', version)
      const next = await fetchWithin(url, signal)
      failures = 0
      if (signal.aborted) return
      current = next
      listener(next)
    } catch {
      await delay(retryDelayMs(failures++), signal)
      continue
    }
    const isEarly = current.live?.version === version && performance.now() - startMs < minPollMs
    if (isEarly) await delay(minPollMs, signal)
  }
}

/** Not with AbortSignal.any, which older browsers lack. */
async function fetchWithin(url: URL, signal: AbortSignal): Promise<PlayerConfig> {
  const request = new AbortController()
  const abort = () => request.abort()
  const timer = setTimeout(abort, maxPollMs)
  signal.addEventListener('abort', abort)
  try {
    return await fetchConfig(url, request.signal)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
}

function delay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
