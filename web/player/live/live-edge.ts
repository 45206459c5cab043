import type { Media } from '../media.ts'

/** A viewer who is further behind than this is not live any more. */
const maxBehindSeconds = 6
/** A viewer who has not rewound is taken back to live at this latency, for instance after a lost connection. */
const maxFollowSeconds = 10
const stallCheckMs = 1_000
/** A seek to this close to live is a seek to live. */
const snapSeconds = 2

/** Where the viewer is in a live stream. */
export type LiveEdge = {
  /** What can be watched: from the oldest position to the live one. */
  range(): [start: number, end: number]
  isLive(): boolean
  /** How far the viewer is behind the live position. */
  behindSeconds(): number
  latencySeconds(): number | undefined
  seek(seconds: number): void
}

/** Keeps a viewer live who has not rewound or paused. */
export function followLive({ video, stream }: Media, isAway: () => boolean, signal: AbortSignal): LiveEdge {
  let isFollowing = true
  const on = (type: string, listener: () => void) => video.addEventListener(type, listener, { signal })

  function range(): [number, number] {
    const { seekable } = video
    const start = seekable.length > 0 ? seekable.start(0) : 0
    const end = stream.liveSeconds() ?? (seekable.length > 0 ? seekable.end(seekable.length - 1) : 0)
    return [start, Math.max(end, start, video.currentTime)]
  }
  const behindSeconds = () => Math.max(0, range()[1] - video.currentTime)

  on('pause', () => {
    isFollowing = false
  })
  on('play', () => {
    // Until the first play, the position is where the stream was when the page was opened.
    isFollowing = video.played.length === 0 || behindSeconds() < maxBehindSeconds
  })
  const catchUp = () => {
    // While the encoder is disconnected, there is nothing newer to watch.
    if (!isFollowing || isAway() || video.paused || video.seeking) return
    if (behindSeconds() > maxFollowSeconds) video.currentTime = range()[1]
  }
  on('timeupdate', catchUp)
  // A stalled video has no `timeupdate`. If the audio of a broadcast ends before the video, hls.js has loaded everything
  // up to its end, waits for the end of the audio, and does not load what follows after the encoder is back.
  const timer = setInterval(catchUp, stallCheckMs)
  signal.addEventListener('abort', () => clearInterval(timer))

  return {
    range,
    isLive: () => behindSeconds() < maxBehindSeconds,
    behindSeconds,
    latencySeconds: () => stream.latencySeconds(),
    seek(seconds) {
      if (!Number.isFinite(seconds)) return
      const [start, end] = range()
      isFollowing = seconds > end - snapSeconds
      video.currentTime = Math.min(end, Math.max(start, seconds))
    },
  }
}
