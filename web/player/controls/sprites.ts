import { element } from '../element.ts'

/**
 * Shows previews above the timeline. media-chrome reads them from a track, which is not loaded before the first frame
 * unless the viewer already points at the timeline.
 */
export function addPreviews(video: HTMLVideoElement, controller: HTMLElement, src: string): void {
  const timeline = controller.querySelector('media-time-range')
  const loaded = new AbortController()
  const load = () => {
    loaded.abort()
    video.append(element('track', { kind: 'metadata', label: 'thumbnails', default: '', src }))
  }
  const { signal } = loaded
  video.addEventListener('loadeddata', load, { signal })
  timeline?.addEventListener('pointerenter', load, { signal })
  if (video.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA) load()

  const preview = timeline?.shadowRoot?.querySelector('media-preview-thumbnail')
  const image = preview?.shadowRoot?.querySelector('img')
  if (image) hideWhileLoading(image)
}

/** media-chrome would show a part of the previous sheet until the next one is loaded, which is a different scene. */
function hideWhileLoading(image: HTMLImageElement): void {
  const update = () => {
    const isLoaded = image.complete && image.naturalWidth > 0
    image.style.visibility = isLoaded ? '' : 'hidden'
  }
  new MutationObserver(update).observe(image, { attributeFilter: ['src'] })
  image.addEventListener('load', update)
}
