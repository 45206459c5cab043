import type { Controls } from './controls.ts'
import { element } from './element.ts'
import type { Stream } from './stream-type.ts'

/** Time without data after which the viewer is told. */
const silenceMs = 5000
/** No event tells that nothing happens, so the state is read at this interval. */
const updateMs = 500

export type Notices = {
  /** The viewer wants to continue at this position. If it is not playable yet, the notice says so. */
  setWanted(seconds: number): void
}

type Target = {
  video: HTMLVideoElement
  stream: Stream
  controls: Controls
  /** Of the entire video. Null for a live stream. */
  durationSeconds: number | null
  signal: AbortSignal
}

/** Tells why a video does not continue: the connection is lost, or the video is still being encoded. */
export function showNotices({ video, stream, controls, durationSeconds, signal }: Target): Notices {
  const { controller } = controls
  const notice = element('div', { class: 'notice', role: 'status' })
  controls.addLayer(notice)
  let wantedSeconds = 0

  function update() {
    const isWaiting = isWaitingForData(video) || stream.isInterrupted()
    const isLost = stream.silentMs() >= silenceMs && isWaiting
    const playable = durationSeconds === null ? undefined : stream.playableSeconds()
    controller.classList.toggle('processing', playable !== undefined)
    controller.style.setProperty('--playable', String((playable ?? 0) / (durationSeconds || 1)))
    if (isLost) show('lost', 'Reconnecting…', true)
    else if (playable === undefined) show('', '', false)
    else if (wantedSeconds <= playable) show('processing', 'Still processing', isWaiting)
    else show('processing', `Still processing: playable up to ${timeOf(playable)}`, isWaiting)
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

const isWaitingForData = (video: HTMLVideoElement) =>
  (!video.paused || video.seeking) && video.readyState < HTMLMediaElement.HAVE_FUTURE_DATA

function timeOf(seconds: number): string {
  const [hours, minutes, rest] = [seconds / 3600, (seconds / 60) % 60, seconds % 60].map(Math.floor)
  const padded = (n = 0) => String(n).padStart(2, '0')
  return hours ? `${hours}:${padded(minutes)}:${padded(rest)}` : `${minutes}:${padded(rest)}`
}
