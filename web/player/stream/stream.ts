import Hls, {
  CapLevelController,
  Events,
  type HlsConfig,
  type Level,
  type LoadPolicy,
  type RetryConfig,
} from 'hls.js'
import { DataWatch } from './connection.ts'
import { GrowingHls, nameOf, withAllQualities } from './growing-hls.ts'
import { Growth } from './growth.ts'
import { keepLatency, liveConfig, stopWhilePaused } from './live-stream.ts'
import { openNative } from './native-stream.ts'
import { type Quality, QualityList } from './qualities.ts'
import { createRecovery, retryPolicy } from './recovery.ts'
import type { Stream, StreamCallbacks, StreamOptions } from './stream-type.ts'
import { watchedLoader } from './watched-loader.ts'

/** Before the first play, one segment is enough to start immediately. The first one is 2 s long. */
const idleBuffer = { maxBufferLength: 1, maxMaxBufferLength: 1 }
/** Seconds to buffer: the minimum, and the maximum for low bitrates. */
const playBuffer = { maxBufferLength: 30, maxMaxBufferLength: 60 }
/** Soon, a better quality may be encoded of what is buffered now. */
const growingBuffer = { maxBufferLength: 12, maxMaxBufferLength: 12 }
/** No video is longer. */
const maxSeconds = 7 * 86_400

export function openStream(
  video: HTMLVideoElement,
  options: StreamOptions,
  callbacks: StreamCallbacks,
): Stream {
  return Hls.isSupported() ? openHls(video, options, callbacks) : openNative(video, options, callbacks)
}

function openHls(video: HTMLVideoElement, options: StreamOptions, callbacks: StreamCallbacks): Stream {
  const abort = new AbortController()
  const { signal } = abort
  const qualities = new QualityList()
  let { minQuality, maxQuality } = options
  const watch = new DataWatch()
  const { isLive } = options
  const growth = new Growth(options)
  const url = growth.isGrowing ? withAllQualities(options.url) : options.url
  /** The end of a playlist that still grows. */
  let liveEdge: number | undefined
  const playableSeconds = () => (growth.isGrowing ? growth.playableSeconds : liveEdge)
  const retries = retryPolicy(() => playableSeconds() !== undefined)
  const bufferOf = () => (growth.isGrowing ? growingBuffer : playBuffer)
  const hls: Hls = new GrowingHls(
    {
      ...hlsConfig(options, () => maxLevel(hls.levels, maxQuality)),
      ...(video.autoplay || isLive ? bufferOf() : idleBuffer),
      loader: watchedLoader(watch),
      fragLoadPolicy: withRetries(Hls.DefaultConfig.fragLoadPolicy, retries),
      playlistLoadPolicy: withRetries(Hls.DefaultConfig.playlistLoadPolicy, retries),
    },
    growth,
    options.durationSeconds ?? maxSeconds,
  )
  const load = () => {
    if (hls.levels.length === 0) hls.loadSource(url)
    else hls.startLoad(video.currentTime || (options.startSeconds ?? 0))
  }
  const recovery = createRecovery({ hls, video, load, onFailure: callbacks.onFailure, signal })

  const applyMinQuality = () => {
    hls.config.minAutoBitrate = minBitrate(hls.levels, minQuality)
  }

  /** The menu has the qualities that can be played at this position, and the viewer's choice. */
  const listQualities = () => {
    const isListed = (level: Level, index: number) =>
      growth.secondsOf(nameOf(level)) > video.currentTime || index === hls.manualLevel
    const listed = hls.levels.map((level, index) => isListed(level, index) && qualityOf(level, index))
    qualities.replace(listed.filter((quality) => quality !== false))
  }

  hls.on(Events.MANIFEST_PARSED, () => {
    listQualities()
    applyMinQuality()
  })
  video.addEventListener('seeked', listQualities, { signal })
  if (isLive) keepLatency(hls)
  else
    hls.on(Events.LEVEL_LOADED, (_, { details }) => {
      liveEdge = details.live ? details.edge : undefined
    })
  qualities.addEventListener('change', () => {
    const level = Number(qualities.selected?.id ?? -1)
    // `nextLevel` keeps the current picture until a segment of the new quality is loaded.
    if (level !== hls.manualLevel) hls.nextLevel = level
  })
  video.addEventListener('play', () => void Object.assign(hls.config, bufferOf()), { signal })
  if (isLive) stopWhilePaused(hls, video, signal)
  hls.loadSource(url)
  hls.attachMedia(video)

  return {
    isNative: false,
    qualities,
    setMinQuality(height) {
      minQuality = height > 0 ? height : undefined
      applyMinQuality()
    },
    setMaxQuality(height) {
      // hls.js evaluates it every second, together with the player size.
      maxQuality = height > 0 ? height : undefined
    },
    retry: recovery.retry,
    setEncoded(next) {
      growth.update(next)
      listQualities()
      if (!video.paused) Object.assign(hls.config, bufferOf())
    },
    playableSeconds,
    isInterrupted: () => false,
    silentMs: () => watch.silentMs(performance.now()),
    latencySeconds: () => (isLive && hls.latency > 0 ? hls.latency : undefined),
    liveSeconds: () => (isLive && hls.liveSyncPosition) || undefined,
    destroy() {
      abort.abort()
      hls.destroy()
    },
  }
}

function hlsConfig(
  { isLive, isPanoramic, startSeconds }: StreamOptions,
  maxAllowedLevel: () => number,
): Partial<HlsConfig> {
  return {
    // hls.js treats a growing playlist as a live stream, and would start near its end.
    startPosition: isLive ? -1 : (startSeconds ?? 0),
    ...(isLive && liveConfig),
    backBufferLength: 60,
    capLevelToPlayerSize: true,
    capLevelController: class extends CapLevelController {
      override getMaxLevel(highest: number): number {
        // Only a part of a 360° video is visible at a time, so the player size says nothing about the quality.
        const bySize = isPanoramic ? highest : super.getMaxLevel(highest)
        return Math.min(bySize, maxAllowedLevel())
      }
    },
    // A bandwidth test would load the first segment twice: in the lowest quality, and in the one to play.
    testBandwidth: false,
    ...initialEstimate(),
  }
}

const withRetries = (policy: LoadPolicy, retries: RetryConfig): LoadPolicy => ({
  default: { ...policy.default, errorRetry: retries, timeoutRetry: retries },
})

/** Starts with the browser's bandwidth estimate, if available, so that the first segments look better. */
function initialEstimate(): Partial<HlsConfig> {
  const { connection } = navigator as Navigator & { connection?: { downlink?: number } }
  const bitsPerSecond = (connection?.downlink ?? 0) * 1e6
  return bitsPerSecond > 0 ? { abrEwmaDefaultEstimate: Math.min(bitsPerSecond, 5e6) } : {}
}

/** The index of the highest level within the limit. */
function maxLevel(levels: Level[], maxQuality: number | undefined): number {
  if (maxQuality === undefined) return Number.POSITIVE_INFINITY
  return Math.max(
    0,
    levels.findLastIndex((level) => shortSide(level) <= maxQuality),
  )
}

/** The bitrate of the lowest level within the limit, or 0 without a limit. */
function minBitrate(levels: Level[], minQuality = 0): number {
  const lowest = levels.find((level) => shortSide(level) >= minQuality) ?? levels.at(-1)
  return minQuality > 0 && lowest ? lowest.maxBitrate : 0
}

const shortSide = ({ width, height }: Level) => (width ? Math.min(width, height) : height)

const qualityOf = ({ width, height, bitrate, frameRate }: Level, index: number): Quality => ({
  id: String(index),
  width,
  height,
  bitrate,
  frameRate,
})
