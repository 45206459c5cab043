import type { PlayerConfig } from './player-config.ts'

export function readConfig(): PlayerConfig {
  return JSON.parse(document.getElementById('kinora')?.textContent ?? '')
}

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

export async function fetchConfig(url: URL): Promise<PlayerConfig> {
  const response = await fetch(url, { cache: 'no-store' })
  const isJson = response.headers.get('content-type')?.includes('json')
  if (!isJson) throw new Error(`config.json: ${response.status}`)
  const config = await response.json()
  if (typeof config?.state !== 'string') throw new Error(`config.json: ${response.status}`)
  return config
}
