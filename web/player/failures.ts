import { fetchConfigWithRetry, isPlayable } from './config.ts'
import { main } from './main-element.ts'
import type { Media } from './media.ts'
import type { PlayerConfig } from './player-config.ts'
import { type StatusScreen, showStatusScreen } from './status-screen.ts'
import { retryDelayMs } from './stream/connection.ts'

export type FailureCallbacks = {
  /** The video cannot be played, and the status screen says so. */
  onError(): void
  /** The video is not playable any more, for example because it was deleted or made private. */
  onUnplayable(config: PlayerConfig): void
}

type Target = {
  media: Media
  config: PlayerConfig
  controller: HTMLElement
  callbacks: FailureCallbacks
  signal: AbortSignal
}

/** Shows a status screen when playback fails, and hides it when the video plays again. */
export function showFailures({ media, config, controller, callbacks, signal }: Target): void {
  const { video, stream } = media
  let screen: StatusScreen | undefined
  let timer: ReturnType<typeof setTimeout> | undefined

  function hide() {
    screen?.remove()
    screen = undefined
    controller.inert = false
  }

  function retry() {
    hide()
    stream.retry()
    video.play().catch(() => {})
  }

  function retryLater() {
    clearTimeout(timer)
    timer = setTimeout(() => stream.retry(), retryDelayMs(0))
  }

  async function show(responseStatus: number | undefined) {
    // After an error response, the video may have been deleted or made private in the meantime.
    const next = responseStatus === undefined ? config : await fetchConfigWithRetry(config, signal)
    if (signal.aborted) return
    if (!isPlayable(next)) return callbacks.onUnplayable(next)
    // The broadcast goes on, although something of it was missing.
    if (config.type === 'live' && responseStatus !== undefined) return retryLater()
    hide()
    screen = showStatusScreen(main, 'error', { onRetry: retry, isLive: config.type === 'live' })
    // Keeps the keyboard focus out of the controls behind the screen.
    controller.inert = true
    callbacks.onError()
  }

  video.addEventListener('playing', hide, { signal })
  signal.addEventListener('abort', () => {
    clearTimeout(timer)
    hide()
  })
  media.onFailure((responseStatus) => void show(responseStatus))
}
