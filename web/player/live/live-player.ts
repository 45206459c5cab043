import type { Controls } from '../controls/controls.ts'
import type { FailureCallbacks } from '../failures.ts'
import type { Media } from '../media.ts'
import type { LiveState, PlayerConfig } from '../player-config.ts'
import { followLive, type LiveEdge } from './live-edge.ts'
import { setLiveTimeline } from './live-timeline.ts'
import { showLiveView } from './live-view.ts'

/** The last seconds of a broadcast play after its end. If they do not, the viewer does not wait longer than this. */
const endStallMs = 3000

type Target = { config: PlayerConfig; callbacks: FailureCallbacks; signal: AbortSignal }

/** The parts of the player that only live streams have. */
export type Live = {
  edge: LiveEdge
  state(): LiveState
  update(config: PlayerConfig): void
}

export function startLive(media: Media, controls: Controls, { config, callbacks, signal }: Target): Live {
  const { video } = media
  let current = config
  let timer: ReturnType<typeof setTimeout> | undefined
  const state = () => current.state as LiveState
  const edge = followLive(media, () => state() !== 'live', signal)
  setLiveTimeline(controls.controller, edge)
  const view = showLiveView({ video, controls, edge, isConnected: () => state() === 'live', signal })
  view.setViewers(config.live?.viewers ?? null)

  function finish() {
    if (state() === 'ended') callbacks.onUnplayable(current)
  }
  function finishLater() {
    clearTimeout(timer)
    timer = setTimeout(finish, endStallMs)
  }
  video.addEventListener('ended', finish, { signal })
  video.addEventListener('waiting', finishLater, { signal })
  video.addEventListener('playing', () => clearTimeout(timer), { signal })
  signal.addEventListener('abort', () => clearTimeout(timer))

  return {
    edge,
    state,
    update(next) {
      current = next
      view.setViewers(next.live?.viewers ?? null)
      if (next.state !== 'ended') return
      if (video.ended || video.played.length === 0) finish()
      else if (video.readyState < HTMLMediaElement.HAVE_FUTURE_DATA) finishLater()
    },
  }
}
