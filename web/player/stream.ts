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

type Told = {
  /** It goes on no more by itself. The status is that of the answer that ended it, if one did. */
  onFailure(status: number | undefined): void
}

export type Stream = {
  qualities: QualityList
  setMinQuality(height: number): void
  setMaxQuality(height: number): void
  /** From where it stands. */
  retry(): void
  /** Takes up qualities that have come since. Only before anything is played, as it begins from the start. */
  refresh(): Promise<void>
  destroy(): void
}

/** Waits between attempts, after those that hls.js makes by itself for every file. */
const retryMs = [1000, 2000, 4000, 8000]
/** Segments that are refused in a row, in whatever quality, until it is no use to go on. */
const mostRefusals = 4
/** Until somebody presses play, one segment is enough to start at once: the first one has 2 s. */
const idleBuffer = { maxBufferLength: 1, maxMaxBufferLength: 1 }
/** Seconds that it has ahead at least, and at most, where many take little space. */
const playBuffer = { maxBufferLength: 30, maxMaxBufferLength: 60 }

export function openStream(video: HTMLVideoElement, options: StreamOptions, told: Told): Stream {
  const qualities = new QualityList()
  // Browsers without MediaSource play HLS by themselves, and choose the quality, too.
  return Hls.isSupported()
    ? openHls(video, qualities, options, told)
    : openNative(video, qualities, options, told)
}

function openHls(
  video: HTMLVideoElement,
  qualities: QualityList,
  options: StreamOptions,
  told: Told,
): Stream {
  const over = new AbortController()
  const { signal } = over
  const hls = new Hls({
    // A list that grows would be taken for a live one, which begins near its end.
    startPosition: options.isLive ? -1 : (options.startSeconds ?? 0),
    ...(video.autoplay ? playBuffer : idleBuffer),
    backBufferLength: 60,
    capLevelToPlayerSize: true,
    capLevelController: class extends CapLevelController {
      override getMaxLevel(highest: number): number {
        // Of a 360° picture only a part is seen at a time, so that its size says little.
        const bySize = options.isPanoramic ? highest : super.getMaxLevel(highest)
        return Math.min(bySize, highestQuality())
      }
    },
    // The first segment would be loaded twice: in the lowest quality to measure, and in another to be shown.
    testBandwidth: false,
    ...firstEstimate(),
  })
  let { minQuality, maxQuality } = options
  let attempts = 0
  /** Segments in a row that the server has refused. */
  let refusals = 0
  let retryTimer: ReturnType<typeof setTimeout> | undefined
  let recoveredAtMs = Number.NEGATIVE_INFINITY
  let isGrowing = false

  function highestQuality(): number {
    if (maxQuality === undefined) return Number.POSITIVE_INFINITY
    const limit = maxQuality
    return Math.max(
      0,
      hls.levels.findLastIndex((level) => shortSide(level) <= limit),
    )
  }

  function applyMinQuality() {
    const limit = minQuality ?? 0
    const lowest = hls.levels.find((level) => shortSide(level) >= limit) ?? hls.levels.at(-1)
    hls.config.minAutoBitrate = limit > 0 && lowest ? lowest.maxBitrate : 0
  }

  function recover({ type, fatal, response }: ErrorData) {
    if (signal.aborted) return
    const status = response?.code ?? 0
    // Who is refused gains nothing by asking again.
    const isRefused = status >= 400 && status < 500
    if (isRefused) refusals++
    // hls.js goes through all qualities, and then through them again, for ever.
    if (!fatal && refusals < mostRefusals) return
    if (type === ErrorTypes.MEDIA_ERROR && performance.now() - recoveredAtMs > 5000) {
      recoveredAtMs = performance.now()
      hls.recoverMediaError()
      return
    }
    const waitMs = retryMs[attempts++]
    if (type !== ErrorTypes.NETWORK_ERROR || waitMs === undefined || isRefused) {
      hls.stopLoad()
      told.onFailure(response?.code)
      return
    }
    retryTimer = setTimeout(goOn, waitMs)
  }

  function goOn() {
    clearTimeout(retryTimer)
    if (signal.aborted) return
    if (hls.levels.length === 0) hls.loadSource(options.url)
    else hls.startLoad(video.currentTime || (options.startSeconds ?? 0))
  }

  hls.on(Events.MANIFEST_PARSED, () => {
    qualities.replace(hls.levels.map(qualityOf))
    applyMinQuality()
  })
  hls.on(Events.LEVEL_LOADED, (_, { details }) => {
    isGrowing = details.live
  })
  hls.on(Events.FRAG_BUFFERED, (_, { frag }) => {
    attempts = 0
    // The sound may well be there without the picture.
    if (frag.type === 'main') refusals = 0
  })
  hls.on(Events.ERROR, (_, data) => recover(data))
  qualities.addEventListener('change', () => {
    const index = qualities.selectedIndex
    // What is on the screen stays until the next segment of the other quality is there.
    if (hls.levels.length > 0) hls.nextLevel = index
  })
  video.addEventListener(
    'play',
    () => {
      Object.assign(hls.config, playBuffer)
    },
    { signal },
  )
  window.addEventListener('online', () => attempts > 0 && goOn(), { signal })
  hls.loadSource(options.url)
  hls.attachMedia(video)

  return {
    qualities,
    setMinQuality(height) {
      minQuality = height > 0 ? height : undefined
      applyMinQuality()
    },
    setMaxQuality(height) {
      // Looked at every second, together with the size of the player.
      maxQuality = height > 0 ? height : undefined
    },
    retry() {
      attempts = 0
      refusals = 0
      recoveredAtMs = Number.NEGATIVE_INFINITY
      if (video.error) hls.recoverMediaError()
      goOn()
    },
    async refresh() {
      if (!isGrowing) return
      const response = await fetch(options.url)
      const count = (await response.text()).match(/^#EXT-X-STREAM-INF/gm)?.length ?? 0
      if (count > hls.levels.length && !signal.aborted && video.played.length === 0)
        hls.loadSource(options.url)
    },
    destroy() {
      over.abort()
      clearTimeout(retryTimer)
      hls.destroy()
    },
  }
}

function openNative(
  video: HTMLVideoElement,
  qualities: QualityList,
  options: StreamOptions,
  told: Told,
): Stream {
  const over = new AbortController()
  const { signal } = over
  function load(at: number | undefined) {
    video.src = options.url
    if (!at) return
    video.addEventListener('loadedmetadata', () => (video.currentTime = at), { once: true, signal })
  }
  video.addEventListener('error', () => video.error && told.onFailure(undefined), { signal })
  load(options.startSeconds)
  return {
    qualities,
    setMinQuality() {},
    setMaxQuality() {},
    retry: () => load(video.currentTime),
    async refresh() {},
    destroy() {
      over.abort()
      video.removeAttribute('src')
      video.load()
    },
  }
}

/** The browser's own estimate of the network, where it tells one: the first segments look better. */
function firstEstimate(): Partial<HlsConfig> {
  const { connection } = navigator as Navigator & { connection?: { downlink?: number } }
  const bitsPerSecond = (connection?.downlink ?? 0) * 1e6
  return bitsPerSecond > 0 ? { abrEwmaDefaultEstimate: Math.min(bitsPerSecond, 5e6) } : {}
}

const shortSide = ({ width, height }: Level) => (width ? Math.min(width, height) : height)

const qualityOf = ({ width, height, bitrate }: Level, index: number): Quality => ({
  id: String(index),
  width,
  height,
  bitrate,
})
