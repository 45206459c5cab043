import { element } from './element.ts'

/** Adds the preview images above the timeline, which media-chrome reads from a track. */
export function addSprites(video: HTMLVideoElement, src: string): void {
  video.append(element('track', { kind: 'metadata', label: 'thumbnails', default: '', src }))
}

/**
 * Hides the preview image until its sheet is loaded. media-chrome would show a part of the previous sheet, which is a
 * different scene.
 */
export function hideLoadingPreview(controller: HTMLElement): void {
  const thumbnail = controller
    .querySelector('media-time-range')
    ?.shadowRoot?.querySelector('media-preview-thumbnail')
  const image = thumbnail?.shadowRoot?.querySelector('img')
  if (!image) return
  const update = () => {
    const isLoaded = image.complete && image.naturalWidth > 0
    image.style.visibility = isLoaded ? '' : 'hidden'
  }
  new MutationObserver(update).observe(image, { attributeFilter: ['src'] })
  image.addEventListener('load', update)
}
