import { element } from '../element.ts'
import type { ControlName } from './control-names.ts'

type Target = {
  controller: HTMLElement
  video: HTMLVideoElement
  has(name: ControlName): boolean
  seek(seconds: number): void
  toggleFullscreen(): void
}

export type Taps = {
  tap(event: MouseEvent): void
  /** Whether a tap would continue a series of skips. */
  continues(event: MouseEvent): boolean
}

/** The longest time between the two taps of a double-tap. */
const doubleTapMs = 300
/** The longest time until another tap after a double-tap. The hint is visible as long. */
const repeatMs = 800
const skipSeconds = 10

/** -1 is the left third of the video, 1 the right third. */
type Side = -1 | 0 | 1

/** A double-tap skips at the sides, further with each further tap, and toggles full screen in the middle. */
export function createTaps({ controller, video, has, seek, toggleFullscreen }: Target): Taps {
  let last: { side: Side; count: number; atMs: number } | undefined
  const hint = createHint()
  controller.append(hint.layer)

  function countOf({ timeStamp }: MouseEvent, side: Side): number {
    if (last?.side !== side) return 1
    return timeStamp - last.atMs < (last.count > 1 ? repeatMs : doubleTapMs) ? last.count + 1 : 1
  }

  function skip(side: -1 | 1, times: number) {
    if (!has(side < 0 ? 'seekBackward' : 'seekForward')) return
    seek(video.currentTime + side * skipSeconds)
    hint.show(side, times * skipSeconds)
  }

  return {
    tap(event) {
      const side = sideOf(event, controller)
      const count = countOf(event, side)
      last = { side, count, atMs: event.timeStamp }
      // Before the first play, the whole video is the play button.
      if (count === 1 && !controller.hasAttribute('mediahasplayed')) video.play().catch(() => {})
      if (count > 1 && side !== 0) skip(side, count - 1)
      if (count === 2 && side === 0) toggleFullscreen()
    },
    continues: (event) => countOf(event, sideOf(event, controller)) > 2,
  }
}

function sideOf({ clientX }: MouseEvent, controller: HTMLElement): Side {
  const { left, width } = controller.getBoundingClientRect()
  const fraction = (clientX - left) / width
  if (fraction < 1 / 3) return -1
  return fraction > 2 / 3 ? 1 : 0
}

/** Shows how far the taps have moved. The time display tells the same to screen readers. */
function createHint() {
  const layer = element('div', { class: 'skip-hint', 'aria-hidden': 'true', noautohide: '' })
  return {
    layer,
    show(side: -1 | 1, seconds: number) {
      layer.textContent = side < 0 ? `« ${seconds} s` : `${seconds} s »`
      layer.dataset.side = side < 0 ? 'left' : 'right'
      for (const animation of layer.getAnimations()) animation.cancel()
      layer.animate({ opacity: [1, 1, 0] }, repeatMs)
    },
  }
}
