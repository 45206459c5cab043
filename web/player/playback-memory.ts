import { type PlaybackPreferences, readPlayback, savePlayback } from './preferences.ts'

/** Starts with the volume and the speed that the viewer chose last. Live streams have no speed. */
export function applyPlayback(video: HTMLVideoElement, isLive: boolean): void {
  const { volume, muted, rate } = readPlayback()
  if (volume !== undefined) video.volume = volume
  if (muted) video.muted = true
  if (rate !== undefined && !isLive) video.playbackRate = rate
}

/** Keeps the speed when the stream is loaded again, which resets it to the default. */
export function keepRate(video: HTMLVideoElement): void {
  video.defaultPlaybackRate = video.playbackRate
  video.addEventListener('ratechange', () => {
    video.defaultPlaybackRate = video.playbackRate
  })
}

/** Remembers what the viewer chooses with the controls or keys, but not what the page or the browser sets. */
export function rememberPlayback(
  controller: HTMLElement,
  video: HTMLVideoElement,
  signal: AbortSignal,
): void {
  // The controls dispatch these events, and media-chrome has applied them when they arrive here.
  const on = (type: string, change: () => PlaybackPreferences) =>
    controller.addEventListener(type, () => savePlayback(change()), { signal })
  on('mediamuterequest', () => ({ muted: true }))
  on('mediaunmuterequest', () => ({ muted: false }))
  on('mediaplaybackraterequest', () => ({ rate: video.playbackRate }))
  // A slider at zero means muted. Otherwise the next video would be silent without a visible reason.
  on('mediavolumerequest', () =>
    video.volume === 0 ? { muted: true } : { volume: video.volume, muted: video.muted },
  )
}
