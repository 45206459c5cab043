/** What the page tells the player; the other half of it is in server/players. */
export type PlayerConfig = {
  videoId: string
  type: 'vod' | 'live'
  /** ready: there is something to play. processing: not yet. */
  state: 'ready' | 'processing' | 'failed' | 'private' | 'missing'
  title: string
  isPanoramic: boolean
  /** Addresses are paths of this origin, with token and session where they are needed. */
  hls: string
  /** Where to ask for all of this again. */
  self: string
  /** null: there is none, or none to be downloaded. */
  mp4: string | null
  poster: string | null
  /** WebVTT of the pictures above the seek bar. */
  sprites: string | null
  captions: { src: string; srclang: string; label: string; default: boolean }[]
  chapters: { src: string; srclang: string; label: string }[]
  durationSeconds: number | null
  theme: Theme
  collector: string
}

export type Theme = Colours & {
  enableApi: boolean
  enableControls: boolean
  forceAutoplay: boolean
  hideTitle: boolean
  forceLoop: boolean
  logo: string | null
  logoLink: string | null
}

export type Colours = {
  text: string
  link: string
  linkHover: string
  linkActive: string
  trackPlayed: string
  trackUnplayed: string
  trackBackground: string
  backgroundTop: string
  backgroundBottom: string
  backgroundText: string
}

export function readConfig(): PlayerConfig {
  return JSON.parse(document.getElementById('kinora')?.textContent ?? '')
}

/** Where the page at this address has its configuration. */
export function configOf(page: URL): URL {
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
