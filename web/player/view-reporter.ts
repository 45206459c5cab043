import type { PlayerConfig } from './config.ts'

/** Of one viewing, in the format of the published collector. */
type Event =
  | { type: 'ready' | 'play' | 'resume' | 'pause' | 'end' | 'progress'; at: number; emitted_at: string }
  | { type: 'seek.forward' | 'seek.backward'; from: number; to: number; emitted_at: string }

const pingMs = 10_000
/** While nothing can be sent, no more than these are kept. */
const mostEvents = 200

export type Report = { destroy(): void }

/** Tells the collector what becomes of the video. Nothing that goes wrong here is seen elsewhere. */
export function startReport(
  video: HTMLVideoElement,
  config: Pick<PlayerConfig, 'videoId' | 'type' | 'collector'>,
  metadata: Record<string, string>,
): Report {
  const over = new AbortController()
  const { signal } = over
  const loadedAt = new Date().toISOString()
  const storageKey = `kinora-session-${config.videoId}`
  let sessionId = recall(storageKey)
  let events: Event[] = []
  let isSending = false
  let hasPlayed = false
  let isReady = false
  /** The last place that was really played, or stood at: at the time of a seek, the video is already elsewhere. */
  let place = 0
  let seekFrom: number | undefined

  function note(event: Event) {
    events.push(event)
    if (events.length > mostEvents) events = events.slice(-mostEvents)
  }

  function noteAt(type: Exclude<Event['type'], 'seek.forward' | 'seek.backward'>, at = video.currentTime) {
    note({ type, at: round(at), emitted_at: new Date().toISOString() })
  }

  function body(sent: Event[]): string {
    return JSON.stringify({
      emitted_at: new Date().toISOString(),
      session: {
        loaded_at: loadedAt,
        referrer: document.referrer,
        metadata: Object.entries(metadata).map(([key, value]) => ({ [key]: value })),
        ...(sessionId && { session_id: sessionId }),
        ...(config.type === 'live' ? { live_stream_id: config.videoId } : { video_id: config.videoId }),
      },
      events: sent,
    })
  }

  /** One at a time: the first answer names the session that all others belong to. */
  async function ping() {
    if (isSending || events.length === 0) return
    isSending = true
    const sent = events
    events = []
    try {
      const response = await fetch(config.collector, { method: 'POST', body: body(sent), keepalive: true })
      if (response.status >= 500 || response.status === 429) throw new Error(String(response.status))
      const answer = await response.json()
      if (typeof answer?.session === 'string' && answer.session !== sessionId) {
        sessionId = answer.session
        remember(storageKey, answer.session)
      }
    } catch {
      events = [...sent, ...events].slice(-mostEvents)
      isSending = false
      return
    }
    isSending = false
    // What came meanwhile and should not wait for the next time.
    if (events.some(({ type }) => type !== 'progress')) void ping()
  }

  /** The last words of a page, which may be gone before an answer. */
  function leave(as: 'progress' | 'pause') {
    if (isPlaying()) noteAt(as)
    if (events.length === 0) return
    const text = body(events)
    events = []
    try {
      if (navigator.sendBeacon?.(config.collector, text)) return
    } catch {}
    fetch(config.collector, { method: 'POST', body: text, keepalive: true }).catch(() => {})
  }

  const isPlaying = () => !video.paused && !video.ended
  const on = (type: string, listener: () => void) => video.addEventListener(type, listener, { signal })

  on('loadedmetadata', () => {
    if (isReady) return
    isReady = true
    noteAt('ready')
    void ping()
  })
  on('play', () => {
    // Playing again is no other play, unless the page is loaded again.
    noteAt(hasPlayed ? 'resume' : 'play')
    hasPlayed = true
    void ping()
  })
  on('pause', () => {
    // At the end both are told, and the end says more.
    if (video.ended) return
    noteAt('pause')
    void ping()
  })
  on('ended', () => {
    noteAt('end')
    void ping()
  })
  on('timeupdate', () => {
    if (!video.seeking) place = video.currentTime
  })
  on('seeking', () => {
    seekFrom ??= place
  })
  on('seeked', () => {
    const from = round(seekFrom ?? place)
    const to = round(video.currentTime)
    seekFrom = undefined
    place = video.currentTime
    // Players set the place at the start; nobody went anywhere.
    if (!hasPlayed && from === 0) return
    if (from !== to) {
      note({
        type: from < to ? 'seek.forward' : 'seek.backward',
        from,
        to,
        emitted_at: new Date().toISOString(),
      })
    }
  })
  const timer = setInterval(() => {
    if (isPlaying()) noteAt('progress')
    void ping()
  }, pingMs)
  document.addEventListener('visibilitychange', () => document.hidden && leave('progress'), { signal })
  window.addEventListener('pagehide', () => leave('pause'), { signal })
  window.addEventListener('pageshow', ({ persisted }) => persisted && isPlaying() && noteAt('resume'), {
    signal,
  })

  return {
    destroy() {
      if (signal.aborted) return
      clearInterval(timer)
      leave('pause')
      over.abort()
    },
  }
}

const round = (seconds: number) => Math.round(seconds * 1000) / 1000

// A frame of another site may be kept from its storage, which then throws.
function recall(key: string): string | undefined {
  try {
    return sessionStorage.getItem(key) ?? undefined
  } catch {
    return undefined
  }
}

function remember(key: string, value: string): void {
  try {
    sessionStorage.setItem(key, value)
  } catch {}
}
