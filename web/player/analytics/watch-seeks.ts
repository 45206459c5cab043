type Seek = { from: number; to: number }

/**
 * Calls `report` for each seek of the viewer. A seek that begins before the previous one has ended is another one, unless
 * both belong to the same gesture: who drags the timeline or holds a key makes a seek for each move, and the browser
 * finishes few of them.
 */
export function watchSeeks(video: HTMLVideoElement, signal: AbortSignal, report: (seek: Seek) => void): void {
  const on = (type: string, listener: () => void) => video.addEventListener(type, listener, { signal })
  const heldGesture = watchGesture(signal)
  /** The last position outside of a seek. When a seek begins, `currentTime` is already the target. */
  let position = 0
  let pending: (Seek & { gesture: number | undefined }) | undefined
  let hasPlayed = false

  function finish({ from, to }: Seek) {
    pending = undefined
    position = to
    // The player sets the start position by a seek. This is not a seek of the viewer.
    const isStart = !hasPlayed && from === 0
    if (Math.abs(from - to) >= 0.001 && !isStart) report({ from, to })
  }

  on('play', () => {
    hasPlayed = true
  })
  on('timeupdate', () => {
    if (!video.seeking) position = video.currentTime
  })
  on('seeking', () => {
    const gesture = heldGesture()
    const isSameGesture = gesture !== undefined && gesture === pending?.gesture
    if (pending && !isSameGesture) finish(pending)
    pending = { from: pending?.from ?? position, to: video.currentTime, gesture }
  })
  on('seeked', () => {
    if (pending) finish(pending)
  })
}

/** Returns a function for the number of the gesture: a pointer or a key that is held down. */
function watchGesture(signal: AbortSignal): () => number | undefined {
  let count = 0
  let isHeld = false
  const begin = (event: Event) => {
    if (event instanceof KeyboardEvent && event.repeat) return
    count++
    isHeld = true
  }
  const end = () => {
    isHeld = false
  }
  const options = { signal, capture: true }
  for (const type of ['pointerdown', 'keydown']) window.addEventListener(type, begin, options)
  for (const type of ['pointerup', 'pointercancel', 'keyup', 'blur'])
    window.addEventListener(type, end, options)
  return () => (isHeld ? count : undefined)
}
