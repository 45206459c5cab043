import 'media-chrome/dist/media-live-button.js'
import type { Controls } from '../controls/controls.ts'
import { timeText } from '../controls/time-text.ts'
import { element } from '../element.ts'
import { icon } from '../status-screen.ts'
import type { LiveEdge } from './live-edge.ts'

const personIcon =
  'M12 4a4 4 0 1 1 0 8 4 4 0 0 1 0-8m0 9.600c3.900 0 7.600 1.900 7.600 4.600V20H4.400v-1.800c0-2.700 3.700-4.600 7.600-4.600'
const updateMs = 500

/** The live badge, which also takes the viewer back to live, the latency, and the number of viewers. */
export type LiveView = { setViewers(count: number | null): void }

type Target = {
  video: HTMLVideoElement
  controls: Controls
  edge: LiveEdge
  /** Whether the encoder is connected. */
  isConnected(): boolean
  signal: AbortSignal
}

export function showLiveView({ video, controls, edge, isConnected, signal }: Target): LiveView {
  const { controller } = controls
  const button = element('media-live-button', { class: 'live' })
  const position = element('span', { class: 'latency' })
  const viewers = element('span', { class: 'viewers', hidden: '' })
  controller.querySelector('.live-slot')?.replaceWith(button, position, viewers)

  function update() {
    if (video.readyState === 0) return
    const latency = isConnected() && !video.paused ? edge.latencySeconds() : undefined
    const live = latency === undefined ? '' : `${latency.toFixed(1)} s latency`
    const text = edge.isLive() ? live : `${timeText(edge.behindSeconds())} behind`
    if (position.textContent !== text) position.textContent = text
  }
  const timer = setInterval(update, updateMs)
  signal.addEventListener('abort', () => clearInterval(timer))

  return {
    setViewers(count) {
      viewers.hidden = count === null
      if (count === null) return
      // The service does not know of this viewer yet.
      const shown = Math.max(1, count)
      const text = element('span', { class: 'visually-hidden' }, shown === 1 ? ' viewer' : ' viewers')
      viewers.replaceChildren(icon(personIcon), shown.toLocaleString('en'), text)
    },
  }
}
