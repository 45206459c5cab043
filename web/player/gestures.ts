import type { ControlName } from './control-names.ts'
import { element } from './element.ts'
import { seekTo } from './seek.ts'

type Target = {
  controller: HTMLElement
  video: HTMLVideoElement
  /** Whether a control is shown. A gesture does not do what the page has hidden. */
  has(name: ControlName): boolean
  signal: AbortSignal
}

/** The longest time between the two taps of a double-tap. */
const doubleTapMs = 300
/** The longest time until another tap after a double-tap. The hint is visible as long. */
const repeatMs = 800
const skipSeconds = 10

/** -1 is the left third of the video, 1 the right third. */
type Side = -1 | 0 | 1
type Taps = { side: Side; count: number; atMs: number }

/**
 * Double-clicks and taps on the video. media-chrome handles a single click, which plays or pauses at once: the second click
 * of a double-click undoes it.
 */
export function watchGestures({ controller, video, has, signal }: Target): void {
  let isTouch = false
  let taps: Taps = { side: 0, count: 0, atMs: Number.NEGATIVE_INFINITY }
  const hint = createSkipHint()
  controller.append(hint.layer)

  const isOnVideo = ({ target }: Event) =>
    (target === video || target === controller) && !controller.hasAttribute('gesturesdisabled')

  const isRepeated = (side: Side, atMs: number) =>
    taps.side === side && atMs - taps.atMs < (taps.count > 1 ? repeatMs : doubleTapMs)

  function tap(side: Side, atMs: number) {
    taps = { side, count: isRepeated(side, atMs) ? taps.count + 1 : 1, atMs }
    // Before the first play, the whole video is the play button.
    if (taps.count === 1 && !controller.hasAttribute('mediahasplayed')) video.play().catch(() => {})
    if (taps.count === 1) return
    if (side === 0) {
      if (taps.count === 2) toggleFullscreen()
    } else if (has(side < 0 ? 'seekBackward' : 'seekForward')) {
      seekTo(video, video.currentTime + side * skipSeconds)
      hint.show(side, (taps.count - 1) * skipSeconds)
    }
  }

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
    const isSkip = taps.count > 1 && isRepeated(sideOf(event, controller), event.timeStamp)
    if (isTouch && isSkip && isOnVideo(event)) event.stopImmediatePropagation()
  }
  const click = (event: MouseEvent) => {
    if (isTouch && isOnVideo(event)) tap(sideOf(event, controller), event.timeStamp)
  }
  const doubleClick = (event: MouseEvent) => {
    if (!isTouch && isOnVideo(event)) toggleFullscreen()
  }
  controller.addEventListener('pointerdown', press, { signal, capture: true })
  controller.addEventListener('pointerup', release, { signal, capture: true })
  controller.addEventListener('click', click, { signal })
  controller.addEventListener('dblclick', doubleClick, { signal })
  keepPlaying(controller, signal)
}

/** The large play button disappears on the first click. The second click of a double-click would pause. */
function keepPlaying(controller: HTMLElement, signal: AbortSignal): void {
  let wasStart = false
  const click = (event: MouseEvent) => {
    if (event.detail > 1 && wasStart) event.stopImmediatePropagation()
    if (event.detail <= 1) wasStart = (event.target as Element).closest('.big') !== null
  }
  controller.addEventListener('click', click, { signal, capture: true })
}

function sideOf({ clientX }: MouseEvent, controller: HTMLElement): Side {
  const { left, width } = controller.getBoundingClientRect()
  const share = (clientX - left) / width
  if (share < 1 / 3) return -1
  return share > 2 / 3 ? 1 : 0
}

/** Shows how far the taps have moved. The time display tells the same to screen readers. */
function createSkipHint() {
  const text = element('span')
  const layer = element('div', { class: 'skip-hint', 'aria-hidden': 'true', noautohide: '' }, text)
  return {
    layer,
    show(side: -1 | 1, seconds: number) {
      text.textContent = side < 0 ? `« ${seconds} s` : `${seconds} s »`
      layer.dataset.side = side < 0 ? 'left' : 'right'
      for (const animation of layer.getAnimations()) animation.cancel()
      layer.animate({ opacity: [1, 1, 0] }, repeatMs)
    },
  }
}
