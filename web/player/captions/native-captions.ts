import { findLanguage } from '../languages.ts'
import type { Caption } from '../player-config.ts'
import type { CaptionOutput } from './caption-output.ts'

type Target = {
  video: HTMLVideoElement
  captions: Caption[]
  signal: AbortSignal
  /** The viewer has changed the captions in the browser's own menu, for example in full screen. */
  onChange(caption: Caption | undefined): void
}

/** Captions that the browser finds in the stream and draws itself, when it plays HLS without hls.js. */
export function openNativeCaptions({ video, captions, signal, onChange }: Target): CaptionOutput {
  /** Null until the player chooses. Until then, the settings of the browser apply. */
  let chosen: Caption | undefined | null = null
  const subtitles = () =>
    [...video.textTracks]
      .filter(({ kind }) => kind === 'captions' || kind === 'subtitles')
      .map((track) => ({ track, srclang: track.language }))
  const trackOf = ({ srclang }: Caption) => findLanguage(subtitles(), [srclang])?.track

  function apply() {
    if (chosen === null) return
    const shown = chosen && trackOf(chosen)
    for (const { track } of subtitles()) track.mode = track === shown ? 'showing' : 'disabled'
  }

  function follow() {
    // The browser adds the tracks one by one, after it has loaded the playlist.
    if (chosen && !trackOf(chosen)) return
    const shown = subtitles().find(({ track }) => track.mode === 'showing')
    const caption = shown && findLanguage(captions, [shown.srclang])
    if (caption === (chosen ?? undefined)) return
    chosen = caption
    onChange(caption)
  }

  video.textTracks.addEventListener('addtrack', apply, { signal })
  video.textTracks.addEventListener('change', follow, { signal })
  return {
    show(caption) {
      chosen = caption
      apply()
    },
  }
}
