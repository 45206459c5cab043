import type { PlayerConfig } from './config.ts'
import type { Options } from './options.ts'
import { openStream, type Stream } from './stream.ts'
import { type Report, startReport } from './view-reporter.ts'

/** The picture and the sound, without anything around them. */
export type Media = {
  video: HTMLVideoElement
  stream: Stream
  /** Called when it goes on no more by itself, also if that was before. The status is that of the answer, if there was one. */
  onFailure(listener: (status: number | undefined) => void): void
  /** With sound where the browser lets it, and else without. */
  autoplay(): void
  destroy(): void
}

/** First of all: while its answers are on their way, the rest of the page is made. */
export function openMedia(config: PlayerConfig, options: Options): Media {
  const video = document.createElement('video')
  video.slot = 'media'
  video.playsInline = true
  // Media of private videos are let through by cookie as well; a crossorigin attribute would leave it at home.
  video.preload = 'metadata'
  video.muted = options.muted
  video.autoplay = options.autoplay
  let isOver = false
  let failure: { status: number | undefined } | undefined
  let tell = (status: number | undefined) => {
    failure = { status }
  }
  const report: Report = startReport(video, config, options.metadata)
  const stream = openStream(
    video,
    {
      url: config.hls,
      isLive: config.type === 'live',
      isPanoramic: config.isPanoramic,
      startSeconds: options.startSeconds,
      minQuality: options.minQuality,
      maxQuality: options.maxQuality,
    },
    { onFailure: (status) => tell(status) },
  )
  Object.assign(video, { videoRenditions: stream.qualities })

  async function play() {
    try {
      await video.play()
    } catch (error) {
      if ((error as Error).name !== 'NotAllowedError' || video.muted || isOver) return
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
      tell = listener
      if (failure) listener(failure.status)
    },
    autoplay: () => void play(),
    destroy() {
      isOver = true
      report.destroy()
      video.pause()
      stream.destroy()
      video.remove()
    },
  }
}

/** How long the controls wait for a picture: they take as long to build as it takes to come. */
const mostMs = 700

/** When there is a picture, or has been time for one. */
export function firstPicture(video: HTMLVideoElement): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, mostMs)
    video.requestVideoFrameCallback?.(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}
