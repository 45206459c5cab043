import { isRejection, retryDelayMs } from './connection.ts'
import { QualityList } from './qualities.ts'
import type { Stream, StreamCallbacks, StreamOptions } from './stream-type.ts'

/** Reloads in a row of a playlist that the server sends, but the browser does not play. */
const maxReloads = 4

/** Browsers without MediaSource play HLS themselves and select the quality. */
export function openNative(
  video: HTMLVideoElement,
  options: StreamOptions,
  callbacks: StreamCallbacks,
): Stream {
  const abort = new AbortController()
  const { signal } = abort
  const load = () => {
    video.src = options.url
  }
  const recovery = createNativeRecovery(video, { ...options, ...callbacks, load, signal })
  // The browser starts a live stream at its end.
  if (!options.isLive) keepPosition(video, options.startSeconds ?? 0, signal)
  let lastDataMs = performance.now()

  // During the recovery, some of these events are caused by the retries.
  const noteData = () => {
    if (!recovery.isInterrupted()) lastDataMs = performance.now()
  }
  for (const type of ['play', 'seeking', 'waiting', 'progress', 'playing'])
    video.addEventListener(type, noteData, { signal })
  load()

  const playableSeconds = () =>
    video.duration === Number.POSITIVE_INFINITY && !options.isLive
      ? Math.max(endOf(video.seekable), endOf(video.buffered), video.currentTime)
      : undefined

  return {
    isNative: true,
    qualities: new QualityList(),
    setMinQuality() {},
    setMaxQuality() {},
    retry: recovery.retry,
    setEncoded() {},
    playableSeconds,
    isInterrupted: recovery.isInterrupted,
    silentMs() {
      // At the end of a growing playlist, the next segment has yet to be encoded.
      const isAtEnd = video.currentTime > (playableSeconds() ?? Number.POSITIVE_INFINITY) - 1
      return isAtEnd ? 0 : performance.now() - lastDataMs
    },
    latencySeconds: () =>
      // Some browsers do not tell what can be watched of a live stream.
      options.isLive && video.seekable.length > 0
        ? Math.max(0, endOf(video.seekable) - video.currentTime)
        : undefined,
    liveSeconds: () => (options.isLive && endOf(video.seekable)) || undefined,
    destroy() {
      abort.abort()
      video.removeAttribute('src')
      video.load()
    },
  }
}

/** Continues at the last position after the video was loaded again. */
function keepPosition(video: HTMLVideoElement, startSeconds: number, signal: AbortSignal): void {
  let position = startSeconds
  const restore = () => {
    if (position > 0) video.currentTime = position
  }
  const update = () => {
    // Loading sets the time to 0.
    if (video.readyState > 0) position = video.currentTime
  }
  video.addEventListener('loadedmetadata', restore, { signal })
  video.addEventListener('timeupdate', update, { signal })
}

const endOf = (ranges: TimeRanges) => (ranges.length > 0 ? ranges.end(ranges.length - 1) : 0)

type Target = Pick<StreamOptions, 'url'> & StreamCallbacks & { load(): void; signal: AbortSignal }

/** The browser does not tell the status of a failed response, so the playlist is requested once more. */
function createNativeRecovery(
  video: HTMLVideoElement,
  { url, load, onFailure, signal }: Target,
): { retry(): void; isInterrupted(): boolean } {
  let retries = 0
  let reloads = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let isInterrupted = false

  async function recover() {
    if (video.error?.code === MediaError.MEDIA_ERR_DECODE) return onFailure(undefined)
    isInterrupted ||= !video.paused
    const status = await fetch(url, { cache: 'no-store', signal }).then(
      (response) => response.status,
      () => 0,
    )
    if (signal.aborted) return
    if (isRejection(status)) return onFailure(status)
    if (status > 0 && status < 400 && ++reloads > maxReloads) return onFailure(undefined)
    clearTimeout(timer)
    timer = setTimeout(resume, retryDelayMs(retries++))
  }

  function resume() {
    clearTimeout(timer)
    timer = undefined
    if (signal.aborted) return
    load()
    // Loading pauses the video.
    if (isInterrupted) video.play().catch(() => {})
  }

  video.addEventListener('error', () => video.error && void recover(), { signal })
  video.addEventListener(
    'playing',
    () => {
      retries = 0
      reloads = 0
      isInterrupted = false
    },
    { signal },
  )
  const resumeEarly = () => {
    if (timer !== undefined) resume()
  }
  window.addEventListener('online', resumeEarly, { signal })
  // The element itself rejects play() while it has an error.
  document.addEventListener(
    'mediaplayrequest',
    () => {
      isInterrupted ||= video.error !== null
      resumeEarly()
    },
    { signal },
  )
  signal.addEventListener('abort', () => clearTimeout(timer))

  return {
    retry() {
      retries = 0
      reloads = 0
      resume()
    },
    isInterrupted: () => isInterrupted,
  }
}
