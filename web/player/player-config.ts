/**
 * The configuration that the server embeds in the page. The type in server/players/config.ts must match, which
 * test/player-config.ts checks: neither side can import the other, because the package contains no web sources.
 */
export type PlayerConfig = {
  videoId: string
  type: 'vod' | 'live'
  /** ready: the video can be played. processing: not yet. empty: nothing has been uploaded. */
  state: 'ready' | 'processing' | 'empty' | 'failed' | 'private' | 'missing'
  title: string
  isPanoramic: boolean
  /** URLs are paths of this origin, with token and session where needed. */
  hls: string
  /** URL of this configuration. */
  self: string
  /** Null if there is no MP4 or downloads are disabled. */
  mp4: string | null
  poster: string | null
  /** WebVTT file of the thumbnails above the seek bar. */
  sprites: string | null
  captions: Caption[]
  chapters: { src: string; srclang: string }[]
  durationSeconds: number | null
  theme: Theme
  collector: string
}

/** A WebVTT file. The label is the native name of the language. */
export type Caption = { src: string; srclang: string; label: string; default: boolean }

export type Theme = Colors & {
  enableApi: boolean
  enableControls: boolean
  forceAutoplay: boolean
  hideTitle: boolean
  forceLoop: boolean
  logo: string | null
  logoLink: string | null
}

export type Colors = {
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
