import type { ControlName } from './control-names.ts'
import { createTaps } from './taps.ts'

type Target = {
  controller: HTMLElement
  video: HTMLVideoElement
  /** Whether a control is shown. A gesture does not do what the page has hidden. */
  has(name: ControlName): boolean
  seek(seconds: number): void
  signal: AbortSignal
}

/**
 * Double-clicks and taps on the video. media-chrome handles a single click, which plays or pauses at once. A double-click
 * undoes that.
 */
export function watchGestures({ controller, video, has, seek, signal }: Target): void {
  let isTouch = false
  let wasPlaying = false
  const taps = createTaps({ controller, video, has, seek, toggleFullscreen })

  const isOnVideo = ({ target }: Event) =>
    (target === video || target === controller) && !controller.hasAttribute('gesturesdisabled')

  function toggleFullscreen() {
    if (!document.fullscreenEnabled || !has('fullscreen')) return
    const isFullscreen = controller.hasAttribute('mediaisfullscreen')
    const type = isFullscreen ? 'mediaexitfullscreenrequest' : 'mediaenterfullscreenrequest'
    controller.dispatchEvent(new CustomEvent(type))
  }

  const press = ({ pointerType }: PointerEvent) => {
    isTouch = pointerType === 'touch'
  }
  const release = (event: PointerEvent) => {
    // A tap shows or hides the controls. They would flicker during many taps.
    if (isTouch && isOnVideo(event) && taps.continues(event)) event.stopImmediatePropagation()
  }
  const noteState = (event: MouseEvent) => {
    if (event.detail <= 1) wasPlaying = !video.paused || isStart(event)
  }
  const click = (event: MouseEvent) => {
    if (isTouch && isOnVideo(event)) taps.tap(event)
  }
  const doubleClick = (event: MouseEvent) => {
    if (isTouch || !(isOnVideo(event) || isStart(event))) return
    if (wasPlaying) video.play().catch(() => {})
    else video.pause()
    toggleFullscreen()
  }
  controller.addEventListener('pointerdown', press, { signal, capture: true })
  controller.addEventListener('pointerup', release, { signal, capture: true })
  controller.addEventListener('click', noteState, { signal, capture: true })
  controller.addEventListener('click', click, { signal })
  controller.addEventListener('dblclick', doubleClick, { signal })
}

/** A click on the large play button, which disappears. The second click of a double-click may hit the video. */
const isStart = ({ target }: Event) => (target as Element).closest('.big') !== null
