import { element } from '../element.ts'
import type { LiveState } from '../player-config.ts'
import type { Stream } from '../stream/stream-type.ts'
import type { Controls } from './controls.ts'
import { timeText } from './time-text.ts'
import type { Timeline } from './timeline.ts'

/** Time without data after which the viewer is told. */
const silenceMs = 5000
/** No event tells that nothing happens, so the state is read at this interval. */
const updateMs = 500
/** Playback waits this close to the end of what is encoded. */
const endSeconds = 1

export type Notices = {
  /** The viewer wants to continue at this position. If it is not playable yet, the notice says so. */
  setWanted(seconds: number): void
}

type Target = {
  video: HTMLVideoElement
  stream: Stream
  controls: Controls
  /** Undefined for a live stream. */
  timeline: Timeline | undefined
  /** The state of a live stream. */
  liveState?: () => LiveState | undefined
  signal: AbortSignal
}

/**
 * Tells why a video does not continue: the connection is lost, the video is still being uploaded or encoded, or the encoder of a live
 * stream is disconnected.
 */
export function showNotices(target: Target): Notices {
  const { video, stream, controls, timeline, liveState, signal } = target
  const { controller } = controls
  const notice = element('div', { class: 'notice', role: 'status' })
  controls.addLayer(notice)
  let wantedSeconds = 0

  function update() {
    const isWaiting = isWaitingForData(video) || stream.isInterrupted()
    const isLost = stream.silentMs() >= silenceMs && isWaiting
    const duration = timeline?.durationSeconds() ?? 0
    const playable = Math.min(stream.playableSeconds() ?? duration, duration)
    const isUploading = timeline?.isUploading() ?? false
    const isGrowing = isUploading || playable < duration
    controller.classList.toggle('processing', playable < duration)
    controller.style.setProperty('--playable', String(playable / (duration || 1)))
    const isAtEnd = isWaiting && video.currentTime > playable - endSeconds
    const state = liveState?.()
    if (state === 'away') show(isWaiting ? 'away' : 'live', 'The stream will be back soon', isWaiting)
    else if (state === 'ended') show('live', 'The stream has ended', false)
    else if (isLost) show('lost', 'Reconnecting…', true)
    else if (isGrowing && (isAtEnd || wantedSeconds > playable))
      show('processing', growthText(playable, isUploading), isAtEnd)
    else show('', '', false)
  }

  /** While it stays, it does not disappear with the controls. */
  function show(kind: string, text: string, isStaying: boolean) {
    notice.dataset.kind = kind
    notice.toggleAttribute('noautohide', isStaying)
    // Screen readers announce every change.
    if (notice.textContent !== text) notice.textContent = text
  }

  const timer = setInterval(update, updateMs)
  signal.addEventListener('abort', () => clearInterval(timer))
  update()

  return {
    setWanted(seconds) {
      wantedSeconds = seconds
      update()
    },
  }
}

const growthText = (playableSeconds: number, isUploading: boolean) =>
  `${isUploading ? 'Still uploading, playable' : 'Playable'} up to ${timeText(playableSeconds)} so far`

const isWaitingForData = (video: HTMLVideoElement) =>
  (!video.paused || video.seeking) && video.readyState < HTMLMediaElement.HAVE_FUTURE_DATA
