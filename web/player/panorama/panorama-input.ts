import { anglePerPixel, decelerate, front, turn, type View, zoom } from './panorama-view.ts'

// Looking around by mouse, touch and keyboard.

/** The pointer may move by this many pixels during a click. */
const clickPixels = 5
const doubleClickMs = 300
/** After a rest of this length before the release, the view does not glide on. */
const restMs = 60
/** In radians per millisecond. A slower movement is not visible. */
const minSpeed = 0.00005

export type Input = {
  view(): View
  /** Advances the glide after a drag, and returns whether it continues. */
  advance(nowMs: number): boolean
  destroy(): void
}

type Callbacks = {
  /** The view changed, or a glide began. */
  onChange(): void
  onClick(): void
  /** The view was reset to the front. */
  onReset(): void
}

type Point = { x: number; y: number }

/** The view that all input methods change. */
type ViewState = { get(): View; set(next: View): void }

export function watchInput(canvas: HTMLCanvasElement, callbacks: Callbacks): Input {
  const abort = new AbortController()
  const { signal } = abort
  let view = front
  const state: ViewState = {
    get: () => view,
    set(next) {
      view = next
      callbacks.onChange()
    },
  }
  const drag = watchDrag(canvas, state, { signal, onGlide: callbacks.onChange })
  const reset = () => {
    drag.glide.stop()
    callbacks.onReset()
    state.set(front)
  }
  watchClicks(canvas, { signal, wasDrag: drag.takeWasDrag, onClick: callbacks.onClick, onDoubleClick: reset })
  watchWheel(canvas, state, signal)
  watchKeys(canvas, state, { signal, reset })

  return {
    view: state.get,
    advance(nowMs) {
      const glide = drag.glide.advance(nowMs)
      if (!glide) return false
      view = turn(view, glide.yaw, glide.pitch)
      return glide.continues
    },
    destroy: () => abort.abort(),
  }
}

/** In radians per millisecond. */
type Speed = { yaw: number; pitch: number }

type Glide = {
  start(speed: Speed): void
  stop(): void
  /** Returns the angles to turn by since the last call, or undefined if there is no glide. */
  advance(nowMs: number): { yaw: number; pitch: number; continues: boolean } | undefined
}

/** The movement after a drag, which slows down until it ends. */
function createGlide(): Glide {
  let speed: Speed = { yaw: 0, pitch: 0 }
  let sinceMs: number | undefined
  return {
    start(initial) {
      speed = initial
      sinceMs = performance.now()
    },
    stop() {
      sinceMs = undefined
    },
    advance(nowMs) {
      if (sinceMs === undefined) return undefined
      const elapsedMs = Math.max(0, nowMs - sinceMs)
      const [yaw, pitch] = [decelerate(speed.yaw, elapsedMs), decelerate(speed.pitch, elapsedMs)]
      speed = { yaw: yaw.speed, pitch: pitch.speed }
      const continues = Math.hypot(speed.yaw, speed.pitch) > minSpeed
      sinceMs = continues ? nowMs : undefined
      return { yaw: yaw.distance, pitch: pitch.distance, continues }
    },
  }
}

type Drag = {
  glide: Glide
  /** Returns whether the last gesture was more than a click, and forgets it. */
  takeWasDrag(): boolean
}

/** One pointer turns the view, two pointers also zoom. After the release the view glides on. */
function watchDrag(
  canvas: HTMLCanvasElement,
  state: ViewState,
  { signal, onGlide }: { signal: AbortSignal; onGlide(): void },
): Drag {
  const reducedMotion = matchMedia('(prefers-reduced-motion: reduce)')
  const pointers = new Map<number, Point>()
  /** The length of the gesture. Infinite with two pointers or after a cancel, so that it is never a click. */
  let movedPixels = 0
  let movedAtMs = 0
  let speed: Speed = { yaw: 0, pitch: 0 }
  const glide = createGlide()

  function press(event: PointerEvent) {
    if (event.button !== 0) return
    movedPixels = pointers.size === 0 ? 0 : Number.POSITIVE_INFINITY
    glide.stop()
    speed = { yaw: 0, pitch: 0 }
    movedAtMs = event.timeStamp
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY })
    canvas.setPointerCapture(event.pointerId)
    canvas.style.cursor = 'grabbing'
  }

  function move(event: PointerEvent) {
    const before = pointers.get(event.pointerId)
    if (!before) return
    const now = { x: event.clientX, y: event.clientY }
    const scale = pinchScale(pointers, event.pointerId, before, now)
    pointers.set(event.pointerId, now)
    movedPixels += Math.hypot(now.x - before.x, now.y - before.y)
    const view = state.get()
    // With two pointers, each contributes half of the movement.
    const angle = anglePerPixel(view.fov, Math.max(canvas.clientWidth, canvas.clientHeight)) / pointers.size
    const yaw = (before.x - now.x) * angle
    const pitch = (now.y - before.y) * angle
    const elapsedMs = Math.max(1, event.timeStamp - movedAtMs)
    movedAtMs = event.timeStamp
    speed = { yaw: (speed.yaw + yaw / elapsedMs) / 2, pitch: (speed.pitch + pitch / elapsedMs) / 2 }
    state.set(zoom(turn(view, yaw, pitch), scale))
  }

  function release(event: PointerEvent) {
    if (!pointers.delete(event.pointerId) || pointers.size > 0) return
    canvas.style.cursor = 'grab'
    const isSwipe = movedPixels > clickPixels && movedPixels < Number.POSITIVE_INFINITY
    if (!isSwipe || reducedMotion.matches || event.timeStamp - movedAtMs > restMs) return
    glide.start(speed)
    onGlide()
  }

  function cancel(event: PointerEvent) {
    if (!pointers.delete(event.pointerId)) return
    movedPixels = Number.POSITIVE_INFINITY
    if (pointers.size === 0) canvas.style.cursor = 'grab'
  }

  canvas.addEventListener('pointerdown', press, { signal })
  canvas.addEventListener('pointermove', move, { signal })
  canvas.addEventListener('pointerup', release, { signal })
  canvas.addEventListener('pointercancel', cancel, { signal })
  canvas.addEventListener('lostpointercapture', cancel, { signal })

  return {
    glide,
    takeWasDrag() {
      const wasDrag = movedPixels > clickPixels
      // Reset, because a click without a pointer, as from a screen reader, may follow.
      movedPixels = 0
      return wasDrag
    },
  }
}

type ClickOptions = {
  signal: AbortSignal
  wasDrag(): boolean
  onClick(): void
  onDoubleClick(): void
}

function watchClicks(canvas: HTMLCanvasElement, options: ClickOptions): void {
  const { signal, wasDrag, onClick, onDoubleClick } = options
  let clickedAtMs = Number.NEGATIVE_INFINITY
  const click = (event: MouseEvent) => {
    if (wasDrag()) return
    onClick()
    // Not the dblclick event, which touch does not fire everywhere. The second click undoes the effect of the first.
    if (event.timeStamp - clickedAtMs < doubleClickMs) onDoubleClick()
    clickedAtMs = event.timeStamp
  }
  canvas.addEventListener('click', click, { signal })
  canvas.addEventListener('dblclick', (event) => event.stopPropagation(), { signal })
}

function watchWheel(canvas: HTMLCanvasElement, state: ViewState, signal: AbortSignal): void {
  const wheel = (event: WheelEvent) => {
    const view = state.get()
    // Browsers report a pinch on a touchpad as a wheel event with the control key, in smaller steps.
    const pixels = event.deltaY * (event.deltaMode === event.DOM_DELTA_PIXEL ? 1 : 20)
    const next = zoom(view, Math.exp(pixels * (event.ctrlKey ? -0.01 : -0.002)))
    // At the zoom limit the page scrolls. With the control key it would zoom the page.
    if (next.fov === view.fov && !event.ctrlKey) return
    event.preventDefault()
    state.set(next)
  }
  canvas.addEventListener('wheel', wheel, { signal, passive: false })
}

function watchKeys(
  canvas: HTMLCanvasElement,
  state: ViewState,
  { signal, reset }: { signal: AbortSignal; reset(): void },
): void {
  const key = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return
    const next = viewAfterKey(event.key, state.get())
    if (!next) return
    // The page and the player use some of these keys, too.
    event.preventDefault()
    event.stopPropagation()
    if (event.type !== 'keydown') return
    if (next === front) reset()
    else state.set(next)
  }
  canvas.addEventListener('keydown', key, { signal })
  canvas.addEventListener('keyup', key, { signal })
}

/** Returns undefined for keys without a function. */
function viewAfterKey(key: string, view: View): View | undefined {
  const step = view.fov / 12
  switch (key) {
    case 'ArrowLeft':
      return turn(view, -step, 0)
    case 'ArrowRight':
      return turn(view, step, 0)
    case 'ArrowUp':
      return turn(view, 0, step)
    case 'ArrowDown':
      return turn(view, 0, -step)
    // On many keyboards, the plus key without shift.
    case '=':
    case '+':
      return zoom(view, 1.15)
    case '-':
      return zoom(view, 1 / 1.15)
    case 'Home':
      return front
  }
}

/** The factor by which the distance between two pointers grew. */
function pinchScale(pointers: Map<number, Point>, id: number, before: Point, now: Point): number {
  if (pointers.size !== 2) return 1
  const other = [...pointers].find(([pointerId]) => pointerId !== id)?.[1] ?? before
  const distance = (point: Point) => Math.max(1, Math.hypot(point.x - other.x, point.y - other.y))
  return distance(now) / distance(before)
}
