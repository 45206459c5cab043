import type { PlayerConfig } from './player-config.ts'
import { isRejection, retryDelayMs } from './stream/connection.ts'

export function readConfig(): PlayerConfig {
  return JSON.parse(document.getElementById('kinora')?.textContent ?? '')
}

/** Whether there is something to play now. */
export const isPlayable = ({ state }: PlayerConfig) =>
  state === 'ready' || state === 'live' || state === 'away'

/** The URL of the configuration of a player page. */
export function configUrlOf(page: URL): URL {
  const url = new URL(page)
  url.pathname = `${page.pathname.replace(/\/+$/, '')}/config.json`
  url.search = ''
  for (const name of ['token', 'avh']) {
    const value = page.searchParams.get(name)
    if (value) url.searchParams.set(name, value)
  }
  return url
}

export async function fetchConfig(url: URL, signal?: AbortSignal): Promise<PlayerConfig> {
  const response = await fetch(url, { cache: 'no-store', ...(signal && { signal }) })
  const isJson = response.headers.get('content-type')?.includes('json')
  const config = isJson ? await response.json() : undefined
  if (typeof config?.state !== 'string') throw new ConfigError(response.status)
  return config
}

/** The response is not a configuration. */
class ConfigError extends Error {
  readonly status: number

  constructor(status: number) {
    super(`config.json: ${status}`)
    this.status = status
  }
}

/** The current configuration of a video. Waits while the service cannot be reached. */
export async function fetchConfigWithRetry(config: PlayerConfig, signal: AbortSignal): Promise<PlayerConfig> {
  for (let retries = 0; !signal.aborted; retries++) {
    try {
      return await fetchConfig(new URL(config.self, location.origin))
    } catch (error) {
      if (error instanceof ConfigError && isRejection(error.status)) return config
      await new Promise((resolve) => setTimeout(resolve, retryDelayMs(retries)))
    }
  }
  return config
}
