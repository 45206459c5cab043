import { anglePerPixel, front, glide, turn, type View, zoom } from './panorama-view.ts'

// Looking around by mouse, touch and keyboard.

/** A click may tremble by so many pixels. */
const clickPixels = 5
const doubleClickMs = 300
/** Who rests before letting go wants no glide. */
const restMs = 60
/** In radians a millisecond; slower than this nothing is seen to move. */
const slowest = 0.00005

export type Input = {
  view(): View
  /** Goes on with a glide; true as long as there is one. */
  advance(nowMs: number): boolean
  destroy(): void
}

type Told = {
  /** The view is another one, or a glide begins. */
  onChange(): void
  onClick(): void
  /** The view is that of the beginning. */
  onReset(): void
}

type Point = { x: number; y: number }

export function watchInput(canvas: HTMLCanvasElement, told: Told): Input {
  const over = new AbortController()
  const stillness = matchMedia('(prefers-reduced-motion: reduce)')
  const fingers = new Map<number, Point>()
  let view = front
  /** How far the gesture went; more than a click may when it had two fingers. */
  let movedPixels = 0
  let speed = { yaw: 0, pitch: 0 }
  let movedAtMs = 0
  let glidesSinceMs: number | undefined
  let clickedAtMs = Number.NEGATIVE_INFINITY

  function show(next: View) {
    view = next
    told.onChange()
  }

  function reset() {
    glidesSinceMs = undefined
    told.onReset()
    show(front)
  }

  function press(event: PointerEvent) {
    if (event.button !== 0) return
    if (fingers.size === 0) movedPixels = 0
    else movedPixels = Number.POSITIVE_INFINITY
    glidesSinceMs = undefined
    speed = { yaw: 0, pitch: 0 }
    movedAtMs = event.timeStamp
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY })
    canvas.setPointerCapture(event.pointerId)
    canvas.style.cursor = 'grabbing'
  }

  function move(event: PointerEvent) {
    const before = fingers.get(event.pointerId)
    if (!before) return
    const now = { x: event.clientX, y: event.clientY }
    const stretch = stretchOf(fingers, event.pointerId, before, now)
    fingers.set(event.pointerId, now)
    movedPixels += Math.hypot(now.x - before.x, now.y - before.y)
    // With two fingers, each has its half.
    const angle = anglePerPixel(view.fov, Math.max(canvas.clientWidth, canvas.clientHeight)) / fingers.size
    const yaw = (before.x - now.x) * angle
    const pitch = (now.y - before.y) * angle
    const elapsedMs = Math.max(1, event.timeStamp - movedAtMs)
    movedAtMs = event.timeStamp
    speed = {
      yaw: (speed.yaw + yaw / elapsedMs) / 2,
      pitch: (speed.pitch + pitch / elapsedMs) / 2,
    }
    show(zoom(turn(view, yaw, pitch), stretch))
  }

  function release(event: PointerEvent) {
    if (!fingers.delete(event.pointerId) || fingers.size > 0) return
    canvas.style.cursor = 'grab'
    const isFlung = movedPixels > clickPixels && movedPixels < Number.POSITIVE_INFINITY
    if (!isFlung || stillness.matches || event.timeStamp - movedAtMs > restMs) return
    glidesSinceMs = performance.now()
    told.onChange()
  }

  function cancel(event: PointerEvent) {
    if (!fingers.delete(event.pointerId)) return
    movedPixels = Number.POSITIVE_INFINITY
    if (fingers.size === 0) canvas.style.cursor = 'grab'
  }

  function click(event: MouseEvent) {
    const isDrag = movedPixels > clickPixels
    // What comes without a pointer, as from a screen reader, is no drag.
    movedPixels = 0
    if (isDrag) return
    told.onClick()
    // Not by dblclick, which fingers do not give everywhere. The second click undoes what the first did.
    if (event.timeStamp - clickedAtMs < doubleClickMs) reset()
    clickedAtMs = event.timeStamp
  }

  function wheel(event: WheelEvent) {
    // A pinch on a touchpad is told as a wheel with the control key, in smaller steps.
    const pixels = event.deltaY * (event.deltaMode === event.DOM_DELTA_PIXEL ? 1 : 20)
    const next = zoom(view, Math.exp(pixels * (event.ctrlKey ? -0.01 : -0.002)))
    // At its end the page scrolls on; with the control key it would zoom itself.
    if (next.fov === view.fov && !event.ctrlKey) return
    event.preventDefault()
    show(next)
  }

  function key(event: KeyboardEvent) {
    if (event.ctrlKey || event.altKey || event.metaKey) return
    const next = viewAfter(event.key, view)
    if (!next) return
    // The page has other things to do at the same keys.
    event.preventDefault()
    event.stopPropagation()
    if (event.type !== 'keydown') return
    if (next === front) reset()
    else show(next)
  }

  const { signal } = over
  canvas.addEventListener('pointerdown', press, { signal })
  canvas.addEventListener('pointermove', move, { signal })
  canvas.addEventListener('pointerup', release, { signal })
  canvas.addEventListener('pointercancel', cancel, { signal })
  canvas.addEventListener('lostpointercapture', cancel, { signal })
  canvas.addEventListener('click', click, { signal })
  canvas.addEventListener('dblclick', (event) => event.stopPropagation(), { signal })
  canvas.addEventListener('wheel', wheel, { signal, passive: false })
  canvas.addEventListener('keydown', key, { signal })
  canvas.addEventListener('keyup', key, { signal })

  return {
    view: () => view,
    advance(nowMs) {
      if (glidesSinceMs === undefined) return false
      const elapsedMs = Math.max(0, nowMs - glidesSinceMs)
      const [yaw, pitch] = [glide(speed.yaw, elapsedMs), glide(speed.pitch, elapsedMs)]
      view = turn(view, yaw.way, pitch.way)
      speed = { yaw: yaw.speed, pitch: pitch.speed }
      glidesSinceMs = Math.hypot(speed.yaw, speed.pitch) > slowest ? nowMs : undefined
      return glidesSinceMs !== undefined
    },
    destroy: () => over.abort(),
  }
}

/** What pressing a key makes of a view; undefined for a key that is none of ours. */
function viewAfter(key: string, view: View): View | undefined {
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
    // The key of the plus without shift, on many keyboards.
    case '=':
    case '+':
      return zoom(view, 1.15)
    case '-':
      return zoom(view, 1 / 1.15)
    case 'Home':
      return front
  }
}

/** How many times as far from each other two fingers are after one of them moved. */
function stretchOf(fingers: Map<number, Point>, id: number, before: Point, now: Point): number {
  if (fingers.size !== 2) return 1
  const other = [...fingers].find(([each]) => each !== id)?.[1] ?? before
  const distance = (point: Point) => Math.max(1, Math.hypot(point.x - other.x, point.y - other.y))
  return distance(now) / distance(before)
}
