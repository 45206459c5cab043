import { hasRightToLeft } from '../languages.ts'
import type { Caption } from '../player-config.ts'
import type { CaptionOutput } from './caption-output.ts'
import { createCaptionView } from './caption-view.ts'

type Target = { video: HTMLVideoElement; signal: AbortSignal; addLayer(layer: HTMLElement): void }

/** Captions of WebVTT files. Each file is loaded when it is shown for the first time. */
export function openFileCaptions({ video, signal, addLayer }: Target): CaptionOutput {
  const loaded = new Map<Caption, HTMLTrackElement>()
  const view = createCaptionView(video)
  addLayer(view.host)
  let track: TextTrack | undefined

  function trackOf(caption: Caption): TextTrack {
    const existing = loaded.get(caption)
    if (existing && existing.readyState !== HTMLTrackElement.ERROR) return existing.track
    existing?.remove()
    const { src, srclang, label } = caption
    const added = Object.assign(document.createElement('track'), { kind: 'subtitles', src, srclang, label })
    loaded.set(caption, added)
    video.append(added)
    return added.track
  }

  // An iPhone shows only the video itself in full screen, without the layer. There the browser draws the captions.
  const modeOf = ({ webkitPresentationMode = 'inline' }: { webkitPresentationMode?: string }) =>
    webkitPresentationMode === 'inline' ? 'hidden' : 'showing'
  const updateMode = () => {
    if (!track) return
    track.mode = modeOf(video as object)
    view.redraw()
  }
  video.addEventListener('webkitpresentationmodechanged', updateMode, { signal })

  return {
    show(caption) {
      if (track) track.mode = 'disabled'
      track = caption && trackOf(caption)
      if (track) track.mode = modeOf(video as object)
      // The native name of a right-to-left language is written from right to left.
      view.show(track, hasRightToLeft(caption?.label ?? ''))
    },
  }
}
