import Hls, {
  CapLevelController,
  type ErrorData,
  ErrorTypes,
  Events,
  type HlsConfig,
  type Level,
} from 'hls.js'
import { type Quality, QualityList } from './qualities.ts'

export type StreamOptions = {
  url: string
  isLive: boolean
  isPanoramic: boolean
  startSeconds: number | undefined
  minQuality: number | undefined
  maxQuality: number | undefined
}

type Callbacks = {
  /** Playback stopped and does not recover by itself. The status is that of the failed response, if there was one. */
  onFailure(status: number | undefined): void
}

export type Stream = {
  /** The browser plays HLS itself, with the captions of the stream. */
  isNative: boolean
  qualities: QualityList
  setMinQuality(height: number): void
  setMaxQuality(height: number): void
  /** Continues at the current position. */
  retry(): void
  /** Loads qualities that were added since. Only useful before the first play, because it reloads from the start. */
  refresh(): Promise<void>
  destroy(): void
}

/** Delays between our own retries, which follow the retries of hls.js for each file. */
const retryMs = [1000, 2000, 4000, 8000]
/** Segments rejected in a row, in any quality, before playback fails. */
const maxRejections = 4
/** Before the first play, one segment is enough to start immediately. The first one is 2 s long. */
const idleBuffer = { maxBufferLength: 1, maxMaxBufferLength: 1 }
/** Seconds to buffer: the minimum, and the maximum for low bitrates. */
const playBuffer = { maxBufferLength: 30, maxMaxBufferLength: 60 }

export function openStream(video: HTMLVideoElement, options: StreamOptions, callbacks: Callbacks): Stream {
  // Browsers without MediaSource play HLS natively and select the quality themselves.
  return Hls.isSupported() ? openHls(video, options, callbacks) : openNative(video, options, callbacks)
}

function openHls(video: HTMLVideoElement, options: StreamOptions, callbacks: Callbacks): Stream {
  const abort = new AbortController()
  const { signal } = abort
  const qualities = new QualityList()
  let { minQuality, maxQuality } = options
  const hls: Hls = new Hls(hlsConfig(video, options, () => maxLevel(hls.levels, maxQuality)))
  const recovery = createRecovery({ hls, video, options, callbacks, signal })
  let isGrowing = false

  const applyMinQuality = () => {
    hls.config.minAutoBitrate = minBitrate(hls.levels, minQuality)
  }

  hls.on(Events.MANIFEST_PARSED, () => {
    qualities.replace(hls.levels.map(qualityOf))
    applyMinQuality()
  })
  hls.on(Events.LEVEL_LOADED, (_, { details }) => {
    isGrowing = details.live
  })
  qualities.addEventListener('change', () => {
    // `nextLevel` keeps the current picture until a segment of the new quality is loaded.
    if (hls.levels.length > 0) hls.nextLevel = qualities.selectedIndex
  })
  video.addEventListener('play', () => void Object.assign(hls.config, playBuffer), { signal })
  hls.loadSource(options.url)
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
    async refresh() {
      if (!isGrowing) return
      const response = await fetch(options.url)
      const count = (await response.text()).match(/^#EXT-X-STREAM-INF/gm)?.length ?? 0
      if (count > hls.levels.length && !signal.aborted && video.played.length === 0)
        hls.loadSource(options.url)
    },
    destroy() {
      abort.abort()
      hls.destroy()
    },
  }
}

function hlsConfig(
  video: HTMLVideoElement,
  { isLive, isPanoramic, startSeconds }: StreamOptions,
  maxAllowedLevel: () => number,
): Partial<HlsConfig> {
  return {
    // hls.js treats a growing playlist as a live stream, and would start near its end.
    startPosition: isLive ? -1 : (startSeconds ?? 0),
    ...(video.autoplay ? playBuffer : idleBuffer),
    backBufferLength: 60,
    capLevelToPlayerSize: true,
    capLevelController: class extends CapLevelController {
      override getMaxLevel(highest: number): number {
        // Only a part of a 360° video is visible at a time, so the player size is no guide to the quality.
        const bySize = isPanoramic ? highest : super.getMaxLevel(highest)
        return Math.min(bySize, maxAllowedLevel())
      }
    },
    // A bandwidth test would load the first segment twice: in the lowest quality, and in the one to play.
    testBandwidth: false,
    ...initialEstimate(),
  }
}

type RecoveryDeps = {
  hls: Hls
  video: HTMLVideoElement
  options: StreamOptions
  callbacks: Callbacks
  signal: AbortSignal
}

/** Retries after errors, with increasing delays, until it gives up and reports a failure. */
function createRecovery({ hls, video, options, callbacks, signal }: RecoveryDeps): { retry(): void } {
  let attempts = 0
  let rejections = 0
  let retryTimer: ReturnType<typeof setTimeout> | undefined
  let recoveredAtMs = Number.NEGATIVE_INFINITY

  function recover({ type, fatal, response }: ErrorData) {
    if (signal.aborted) return
    const status = response?.code ?? 0
    // Retrying does not help against a 4xx response.
    const isRejected = status >= 400 && status < 500
    if (isRejected) rejections++
    // hls.js itself would try all qualities again and again.
    if (!fatal && rejections < maxRejections) return
    if (type === ErrorTypes.MEDIA_ERROR && performance.now() - recoveredAtMs > 5000) {
      recoveredAtMs = performance.now()
      hls.recoverMediaError()
      return
    }
    const waitMs = retryMs[attempts++]
    if (type !== ErrorTypes.NETWORK_ERROR || waitMs === undefined || isRejected) {
      hls.stopLoad()
      callbacks.onFailure(response?.code)
      return
    }
    retryTimer = setTimeout(resume, waitMs)
  }

  function resume() {
    clearTimeout(retryTimer)
    if (signal.aborted) return
    if (hls.levels.length === 0) hls.loadSource(options.url)
    else hls.startLoad(video.currentTime || (options.startSeconds ?? 0))
  }

  hls.on(Events.ERROR, (_, data) => recover(data))
  hls.on(Events.FRAG_BUFFERED, (_, { frag }) => {
    attempts = 0
    // Audio segments may load while all video segments are rejected.
    if (frag.type === 'main') rejections = 0
  })
  window.addEventListener('online', () => attempts > 0 && resume(), { signal })
  signal.addEventListener('abort', () => clearTimeout(retryTimer))

  return {
    retry() {
      attempts = 0
      rejections = 0
      recoveredAtMs = Number.NEGATIVE_INFINITY
      if (video.error) hls.recoverMediaError()
      resume()
    },
  }
}

function openNative(video: HTMLVideoElement, options: StreamOptions, callbacks: Callbacks): Stream {
  const abort = new AbortController()
  const { signal } = abort
  function load(at: number | undefined) {
    video.src = options.url
    if (!at) return
    video.addEventListener('loadedmetadata', () => (video.currentTime = at), { once: true, signal })
  }
  video.addEventListener('error', () => video.error && callbacks.onFailure(undefined), { signal })
  load(options.startSeconds)
  return {
    isNative: true,
    qualities: new QualityList(),
    setMinQuality() {},
    setMaxQuality() {},
    retry: () => load(video.currentTime),
    async refresh() {},
    destroy() {
      abort.abort()
      video.removeAttribute('src')
      video.load()
    },
  }
}

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
