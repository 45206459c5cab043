/**
 * The configuration that the server embeds in the page. The type in server/players/config.ts must match, which
 * test/support/browser/player-config.ts checks: neither side can import the other, because the package contains no web
 * sources.
 */
export type PlayerConfig = {
  videoId: string
  type: 'vod' | 'live'
  state: VideoState | LiveState | 'private' | 'missing'
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
  /** While the file is uploaded, this is what it says about itself, or null if it does not say it. */
  durationSeconds: number | null
  /** The file is still being uploaded, and what has arrived of it is encoded. */
  isUploading: boolean
  /** While the video is uploaded or encoded: the seconds of each quality and of the audio (`sound`) that can be played. */
  encodedSeconds: Record<string, number> | null
  theme: Theme
  collector: string
  /** Null for a video. */
  live: LiveDetails | null
}

/** ready: the video can be played. processing: not yet. empty: nothing has been uploaded. */
type VideoState = 'ready' | 'processing' | 'empty' | 'failed'
/** waiting: nothing has been broadcast yet. away: the encoder is not connected and may come back. */
export type LiveState = 'waiting' | 'live' | 'away' | 'ended'

type LiveDetails = {
  /** Changes with the state. */
  version: string
  broadcastId: string | null
  /** URL of the player page of the recording. */
  recording: string | null
  /** Null if the owner does not want to show it. */
  viewers: number | null
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
