import { firstFrame } from '../first-frame.ts'
import type { PlayerConfig } from '../player-config.ts'
import { watchSeeks } from './watch-seeks.ts'

/** An event in the format of the published collector. */
type Event =
  | { type: PositionType; at: number; emitted_at: string }
  | { type: 'seek.forward' | 'seek.backward'; from: number; to: number; emitted_at: string }
type PositionType = 'ready' | 'play' | 'resume' | 'pause' | 'end' | 'progress'

const reportMs = 10_000
/** The first report waits for the first frame, which it would delay, but not longer than this. */
const maxWaitMs = 3000
/** Events that are kept while nothing can be sent. */
const maxEvents = 200

export type ViewReporter = { destroy(): void }

type Target = Pick<PlayerConfig, 'videoId' | 'type' | 'collector'>

/** Reports the viewing to the collector. Its failures never affect playback. */
export function startViewReporter(
  video: HTMLVideoElement,
  target: Target,
  metadata: Record<string, string>,
): ViewReporter {
  const abort = new AbortController()
  const { signal } = abort
  const sender = createSender(target, metadata)
  const isPlaying = () => !video.paused && !video.ended
  const record = (type: PositionType) =>
    sender.add({ type, at: round(video.currentTime), emitted_at: new Date().toISOString() })

  /** Sends the last events when the page may be about to close. */
  function leave(type: 'progress' | 'pause') {
    if (isPlaying()) record(type)
    sender.sendLast()
  }

  let isWaiting = true
  const send = () => {
    if (!isWaiting) sender.send()
  }
  void firstFrame(video, maxWaitMs).then(() => {
    isWaiting = false
    send()
  })
  recordPlayback(video, signal, (type) => {
    record(type)
    send()
  })
  watchSeeks(video, signal, ({ from, to }) => {
    const type = from < to ? 'seek.forward' : 'seek.backward'
    sender.add({ type, from: round(from), to: round(to), emitted_at: new Date().toISOString() })
  })
  const timer = setInterval(() => {
    if (isPlaying()) record('progress')
    send()
  }, reportMs)
  document.addEventListener('visibilitychange', () => document.hidden && leave('progress'), { signal })
  window.addEventListener('pagehide', () => leave('pause'), { signal })
  window.addEventListener('pageshow', ({ persisted }) => persisted && isPlaying() && record('resume'), {
    signal,
  })

  return {
    destroy() {
      if (signal.aborted) return
      clearInterval(timer)
      leave('pause')
      abort.abort()
    },
  }
}

function recordPlayback(
  video: HTMLVideoElement,
  signal: AbortSignal,
  record: (type: PositionType) => void,
): void {
  const on = (type: string, listener: () => void) => video.addEventListener(type, listener, { signal })
  let hasPlayed = false
  let isReady = false
  on('loadedmetadata', () => {
    if (isReady) return
    isReady = true
    record('ready')
  })
  on('play', () => {
    // Only the first play after a page load counts as a play.
    record(hasPlayed ? 'resume' : 'play')
    hasPlayed = true
  })
  on('pause', () => {
    // The browser fires both events at the end. Only `end` is reported.
    if (!video.ended) record('pause')
  })
  on('ended', () => record('end'))
}

/** Queues events and sends them to the collector, one request at a time. */
function createSender({ videoId, type, collector }: Target, metadata: Record<string, string>) {
  const loadedAt = new Date().toISOString()
  const storageKey = `kinora-session-${videoId}`
  let sessionId = readStorage(storageKey)
  let queue: Event[] = []
  let isSending = false

  const bodyOf = (events: Event[]) =>
    JSON.stringify({
      emitted_at: new Date().toISOString(),
      session: {
        loaded_at: loadedAt,
        referrer: document.referrer,
        metadata: Object.entries(metadata).map(([key, value]) => ({ [key]: value })),
        ...(sessionId && { session_id: sessionId }),
        ...(type === 'live' ? { live_stream_id: videoId } : { video_id: videoId }),
      },
      events,
    })
  const post = (body: string) => fetch(collector, { method: 'POST', body, keepalive: true })

  async function send(): Promise<void> {
    // One at a time, because the first response contains the session id of all later reports.
    if (isSending || queue.length === 0) return
    isSending = true
    const events = queue
    queue = []
    try {
      const response = await post(bodyOf(events))
      if (response.status >= 500 || response.status === 429) throw new Error(String(response.status))
      const { session } = (await response.json()) ?? {}
      if (typeof session === 'string' && session !== sessionId) {
        sessionId = session
        writeStorage(storageKey, session)
      }
    } catch {
      queue = [...events, ...queue].slice(-maxEvents)
      isSending = false
      return
    }
    isSending = false
    // Progress can wait for the next report, other events are sent at once.
    if (queue.some((event) => event.type !== 'progress')) void send()
  }

  return {
    add(event: Event) {
      queue = [...queue, event].slice(-maxEvents)
    },
    send: () => void send(),
    /** Uses a beacon, which is delivered even if the page closes. */
    sendLast() {
      if (queue.length === 0) return
      // Each beacon without a session id would begin another session.
      if (sessionId === undefined) return void send()
      const body = bodyOf(queue)
      queue = []
      try {
        if (navigator.sendBeacon?.(collector, body)) return
      } catch {}
      post(body).catch(() => {})
    },
  }
}

const round = (seconds: number) => Math.round(seconds * 1000) / 1000

// In an iframe of another site, access to storage may throw.
function readStorage(key: string): string | undefined {
  try {
    return sessionStorage.getItem(key) ?? undefined
  } catch {
    return undefined
  }
}

function writeStorage(key: string, value: string): void {
  try {
    sessionStorage.setItem(key, value)
  } catch {}
}
