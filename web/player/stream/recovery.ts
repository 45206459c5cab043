import type Hls from 'hls.js'
import { type ErrorData, ErrorTypes, Events, type RetryConfig } from 'hls.js'
import { isRejection, retryDelayMs } from './connection.ts'

/** Segments rejected in a row, in any quality, before playback fails. */
const maxRejections = 4
/** Failures of the server in a row, before hls.js tries another quality. */
const maxServerFailures = 4
/** A second media error within this time is not recoverable. */
const mediaErrorMs = 5000

/**
 * The retries of hls.js. Without a connection, it retries the same file instead of trying all qualities. While a video is
 * growing, it never gives up on a segment, because it would treat the playlist as live and skip the segment.
 */
export const retryPolicy = (isGrowing: () => boolean): RetryConfig => ({
  maxNumRetry: Number.POSITIVE_INFINITY,
  retryDelayMs: 1000,
  maxRetryDelayMs: 8000,
  shouldRetry(_policy, retries, isTimeout, response) {
    const status = response?.code
    if (!isTimeout && status === 0) return true
    if (!isTimeout && (status === undefined || isRejection(status))) return false
    return isGrowing() || retries < maxServerFailures
  },
})

type Target = {
  hls: Hls
  video: HTMLVideoElement
  /** Starts to load again at the current position. */
  load(): void
  /** Playback cannot continue. The status is that of the failed response, if there was one. */
  onFailure(status: number | undefined): void
  signal: AbortSignal
}

/**
 * Recovers from errors that hls.js reports as fatal. It retries for as long as the server cannot be reached, and fails if
 * the server rejects the requests.
 */
export function createRecovery({ hls, video, load, onFailure, signal }: Target): { retry(): void } {
  let retries = 0
  let rejections = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let mediaErrorAtMs = Number.NEGATIVE_INFINITY

  function recover({ type, fatal, response }: ErrorData) {
    if (signal.aborted) return
    const isRejected = isRejection(response?.code ?? 0)
    if (isRejected) rejections++
    // hls.js itself would try all qualities again and again.
    if (!fatal && rejections < maxRejections) return
    if (type === ErrorTypes.MEDIA_ERROR && performance.now() - mediaErrorAtMs > mediaErrorMs) {
      mediaErrorAtMs = performance.now()
      hls.recoverMediaError()
    } else if (type === ErrorTypes.NETWORK_ERROR && !isRejected) {
      clearTimeout(timer)
      timer = setTimeout(resume, retryDelayMs(retries++))
    } else {
      hls.stopLoad()
      onFailure(response?.code)
    }
  }

  function resume() {
    clearTimeout(timer)
    timer = undefined
    if (!signal.aborted) load()
  }

  /** The connection may be back, or the viewer does not want to wait. */
  function resumeEarly() {
    if (timer !== undefined) resume()
  }

  hls.on(Events.ERROR, (_, data) => recover(data))
  hls.on(Events.FRAG_BUFFERED, (_, { frag }) => {
    retries = 0
    // Audio segments may load while all video segments are rejected.
    if (frag.type === 'main') rejections = 0
  })
  window.addEventListener('online', resumeEarly, { signal })
  document.addEventListener('visibilitychange', () => !document.hidden && resumeEarly(), { signal })
  for (const type of ['play', 'seeking']) video.addEventListener(type, resumeEarly, { signal })
  signal.addEventListener('abort', () => clearTimeout(timer))

  return {
    retry() {
      retries = 0
      rejections = 0
      mediaErrorAtMs = Number.NEGATIVE_INFINITY
      if (video.error) hls.recoverMediaError()
      resume()
    },
  }
}
