import { showHint } from './panorama-hint.ts'
import { watchInput } from './panorama-input.ts'
import { addLayer } from './panorama-layer.ts'
import { watchMotion } from './panorama-motion.ts'
import { openRenderer, type Renderer } from './panorama-renderer.ts'
import { type Device, halfExtent, headingOf, rotationOf } from './panorama-view.ts'

// The 360° view: a canvas over an equirectangular video, drawn only when the video or the view changed.

/** More device pixels per CSS pixel cost much and are hardly visible. */
const maxPixelRatio = 2

type Panorama = { destroy(): void }

/** Without WebGL, the video stays as it is. */
export function startPanorama(video: HTMLVideoElement, host: HTMLElement): Panorama {
  const { layer, canvas, ...added } = addLayer(video, host)
  const renderer = openRenderer(canvas, () => view?.takeFrame())
  const view = renderer && startView({ video, layer, canvas, renderer, removeLayer: added.destroy })
  if (!view) added.destroy()
  return view ?? { destroy() {} }
}

type ViewDeps = {
  video: HTMLVideoElement
  layer: HTMLElement
  canvas: HTMLCanvasElement
  renderer: Renderer
  removeLayer(): void
}

function startView(deps: ViewDeps): Panorama & { takeFrame(): void } {
  const { video, layer, canvas, renderer } = deps
  const abort = new AbortController()
  const { signal } = abort
  let isFrameNew = true
  let drawing: number | undefined

  const hint = showHint(video, layer)
  const input = watchInput(canvas, {
    onChange() {
      hint.dismiss()
      requestDraw()
    },
    onClick: () => togglePlay(video),
    onReset: () => device.reset(),
  })
  const device = watchDevice(layer, {
    onMove: requestDraw,
    onAsked: () => canvas.focus({ preventScroll: true }),
  })
  watchFrames(video, takeFrame, signal)
  watchSize(layer, resize, signal)
  video.addEventListener('emptied', () => renderer.clear(), { signal })
  resize()
  requestDraw()

  function takeFrame() {
    isFrameNew = true
    requestDraw()
  }

  function requestDraw() {
    if (signal.aborted) return
    drawing ??= requestAnimationFrame((nowMs) => {
      drawing = undefined
      if (input.advance(nowMs)) requestDraw()
      draw()
    })
  }

  function draw() {
    try {
      if (isFrameNew) renderer.upload(video)
    } catch {
      // The page may show a video of another origin, but not read its pixels.
      destroy()
      return
    }
    isFrameNew = false
    const view = input.view()
    renderer.draw(rotationOf(view, device.get()), halfExtent(view.fov, canvas.width, canvas.height))
  }

  function resize() {
    // Drawn at once, because a resized canvas is empty.
    if (fitCanvas(canvas, layer)) draw()
  }

  function destroy() {
    if (signal.aborted) return
    abort.abort()
    if (drawing !== undefined) cancelAnimationFrame(drawing)
    device.destroy()
    input.destroy()
    renderer.destroy()
    deps.removeLayer()
  }

  return { destroy, takeFrame }
}

/** Follows the orientation of the device. Its first heading is the front of the video. */
function watchDevice(host: HTMLElement, { onMove, onAsked }: { onMove(): void; onAsked(): void }) {
  let device: Device | undefined
  const motion = watchMotion(
    host,
    (rotation) => {
      device = { rotation, heading: device?.heading ?? headingOf(rotation) }
      onMove()
    },
    onAsked,
  )
  return {
    get: () => device,
    /** Makes the current heading the front. */
    reset() {
      if (device) device = { ...device, heading: headingOf(device.rotation) }
    },
    destroy: motion.destroy,
  }
}

function togglePlay(video: HTMLVideoElement): void {
  // Rejected if the next click comes before the video plays.
  if (video.paused) video.play().catch(() => {})
  else video.pause()
}

/** Returns whether the size changed. */
function fitCanvas(canvas: HTMLCanvasElement, layer: HTMLElement): boolean {
  const scale = Math.min(window.devicePixelRatio, maxPixelRatio)
  const width = Math.max(1, Math.round(layer.clientWidth * scale))
  const height = Math.max(1, Math.round(layer.clientHeight * scale))
  if (canvas.width === width && canvas.height === height) return false
  Object.assign(canvas, { width, height })
  return true
}

function watchSize(layer: HTMLElement, onResize: () => void, signal: AbortSignal): void {
  const observer = new ResizeObserver(onResize)
  observer.observe(layer)
  signal.addEventListener('abort', () => observer.disconnect())
  // When the page is zoomed, the layer may keep its CSS size but have more or fewer device pixels.
  window.addEventListener('resize', onResize, { signal })
}

/** Calls back each time the video shows another frame. */
function watchFrames(video: HTMLVideoElement, onFrame: () => void, signal: AbortSignal): void {
  for (const type of ['loadeddata', 'seeked', 'resize']) video.addEventListener(type, onFrame, { signal })
  if (!('requestVideoFrameCallback' in video)) {
    watchAnimationFrames(video, onFrame, signal)
    return
  }
  const next = () => {
    onFrame()
    request = video.requestVideoFrameCallback(next)
  }
  let request = video.requestVideoFrameCallback(next)
  signal.addEventListener('abort', () => video.cancelVideoFrameCallback(request))
}

/** For browsers without frame callbacks: calls back on every animation frame while the video plays. */
function watchAnimationFrames(video: HTMLMediaElement, onFrame: () => void, signal: AbortSignal): void {
  let request: number | undefined
  const next = () => {
    request = undefined
    onFrame()
    if (!video.paused && !video.ended) start()
  }
  const start = () => {
    request ??= requestAnimationFrame(next)
  }
  video.addEventListener('playing', start, { signal })
  if (!video.paused) start()
  signal.addEventListener('abort', () => request !== undefined && cancelAnimationFrame(request))
}
