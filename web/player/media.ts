import { startViewReporter } from './analytics/view-reporter.ts'
import type { Options } from './options.ts'
import { applyPlayback, keepRate } from './playback-memory.ts'
import type { PlayerConfig } from './player-config.ts'
import { openStream } from './stream/stream.ts'
import type { Stream } from './stream/stream-type.ts'

/** The video element and its stream, without controls. */
export type Media = {
  video: HTMLVideoElement
  stream: Stream
  /**
   * Calls the listener when playback fails, or at once if it has already failed. The status is that of the failed
   * response, if there was one.
   */
  onFailure(listener: (status: number | undefined) => void): void
  /** Plays with sound if the browser allows it, otherwise muted. */
  autoplay(): void
  destroy(): void
}

/** Called first, so that the rest of the page is built while the stream loads. */
export function openMedia(config: PlayerConfig, options: Options): Media {
  const isLive = config.type === 'live'
  const video = createVideo(options, isLive)
  let isDestroyed = false
  let failure: { status: number | undefined } | undefined
  let reportFailure = (status: number | undefined) => {
    failure = { status }
  }
  const reporter = options.analytics ? startViewReporter(video, config, options.metadata) : undefined
  const stream = openStream(
    video,
    {
      url: config.hls,
      isLive,
      isPanoramic: config.isPanoramic,
      startSeconds: options.startSeconds,
      durationSeconds: config.durationSeconds,
      isUploading: config.isUploading,
      encodedSeconds: config.encodedSeconds,
      minQuality: options.minQuality,
      maxQuality: options.maxQuality,
    },
    { onFailure: (status) => reportFailure(status) },
  )
  Object.assign(video, { videoRenditions: stream.qualities })

  async function play() {
    try {
      await video.play()
    } catch (error) {
      if ((error as Error).name !== 'NotAllowedError' || video.muted || isDestroyed) return
      video.muted = true
      await video.play().catch(() => {
        video.muted = options.muted
      })
    }
  }
  if (options.autoplay) void play()

  return {
    video,
    stream,
    onFailure(listener) {
      reportFailure = listener
      if (failure) listener(failure.status)
    },
    autoplay: () => void play(),
    destroy() {
      isDestroyed = true
      reporter?.destroy()
      video.pause()
      stream.destroy()
      video.remove()
    },
  }
}

function createVideo(
  { muted, autoplay, hideControls, chromeless }: Options,
  isLive: boolean,
): HTMLVideoElement {
  // Without a crossorigin attribute, because private media also need the cookie, which it would leave out.
  const video = document.createElement('video')
  Object.assign(video, { slot: 'media', playsInline: true, preload: 'metadata', muted, autoplay })
  // Without controls, the viewer could not change them back.
  if (!hideControls && !chromeless) applyPlayback(video, isLive)
  // The speed of a live stream follows its latency.
  if (!isLive) keepRate(video)
  return video
}
