import type Hls from 'hls.js'
import { Events, type HlsConfig } from 'hls.js'

/** Without a slightly higher speed, a player never makes up for the delay of its start. */
export const liveConfig: Partial<HlsConfig> = {
  lowLatencyMode: true,
  maxLiveSyncPlaybackRate: 1.1,
  // The duration of the element is infinite, and its seekable range is what viewers can rewind to.
  liveDurationInfinity: true,
}

/** A stream that is not played stops loading. After a pause, the viewer may still come back. */
const idleMs = { unplayed: 1000, paused: 30_000 }

/**
 * Resets the latency after the encoder has connected again. hls.js increases it with every stall, and the stall while the
 * encoder was disconnected says nothing about the connection of the viewer.
 */
export function keepLatency(hls: Hls): void {
  let discontinuity: number | undefined
  hls.on(Events.FRAG_CHANGED, (_, { frag }) => {
    const details = hls.latestLevelDetails
    if (discontinuity !== undefined && frag.cc !== discontinuity && details)
      hls.targetLatency = details.partHoldBack || details.holdBack || 3 * details.targetduration
    discontinuity = frag.cc
  })
}

/** Otherwise a player that nobody watches would request the playlist twice a second. */
export function stopWhilePaused(hls: Hls, video: HTMLVideoElement, signal: AbortSignal): void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isStopped = false

  function stopLater() {
    clearTimeout(timer)
    if (!video.paused) return
    timer = setTimeout(stop, video.played.length > 0 ? idleMs.paused : idleMs.unplayed)
  }
  function stop() {
    isStopped = true
    hls.stopLoad()
  }
  function resume() {
    clearTimeout(timer)
    if (isStopped) hls.startLoad(video.currentTime)
    isStopped = false
    stopLater()
  }
  for (const type of ['loadeddata', 'pause']) video.addEventListener(type, stopLater, { signal })
  for (const type of ['play', 'seeking']) video.addEventListener(type, resume, { signal })
  signal.addEventListener('abort', () => clearTimeout(timer))
}
