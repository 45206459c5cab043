import { watchInput } from './panorama-input.ts'
import { addLayer } from './panorama-layer.ts'
import { watchMotion } from './panorama-motion.ts'
import { openPicture } from './panorama-renderer.ts'
import { type Device, headingOf, reachOf, rotationOf } from './panorama-view.ts'

// The 360° view: a canvas over an equirectangular video, drawn only when the video or the view has changed.

/** More pixels than this cost much and are hardly seen. */
const mostPixelsPerPixel = 2

/** Without WebGL nothing happens, and the video stays as it is. */
export function startPanorama(video: HTMLVideoElement, host: HTMLElement): { destroy(): void } {
  const { layer, canvas, ...added } = addLayer(video, host)
  const picture = openPicture(canvas, takeFrame)
  if (!picture) {
    added.destroy()
    return { destroy() {} }
  }
  const over = new AbortController()
  let device: Device | undefined
  let isFrameNew = true
  let drawing: number | undefined

  const input = watchInput(canvas, {
    onChange: change,
    onClick() {
      // Refused where the next click comes before it plays.
      if (video.paused) video.play().catch(() => {})
      else video.pause()
    },
    onReset() {
      if (device) device = { ...device, heading: headingOf(device.rotation) }
    },
  })
  const motion = watchMotion(
    layer,
    (rotation) => {
      device = { rotation, heading: device?.heading ?? headingOf(rotation) }
      change()
    },
    () => canvas.focus({ preventScroll: true }),
  )
  const frames = watchFrames(video, takeFrame)
  const sizes = new ResizeObserver(fit)
  sizes.observe(layer)
  // When the page is zoomed, the layer may keep its size and have other pixels.
  window.addEventListener('resize', fit, { signal: over.signal })
  video.addEventListener('emptied', () => picture.clear(), { signal: over.signal })
  fit()
  change()

  function takeFrame() {
    isFrameNew = true
    change()
  }

  function change() {
    if (!over.signal.aborted) drawing ??= requestAnimationFrame(draw)
  }

  function draw(nowMs: number) {
    drawing = undefined
    if (input.advance(nowMs)) change()
    paint()
  }

  function paint() {
    try {
      if (isFrameNew) picture?.take(video)
    } catch {
      // A video of another origin, which the page may show but not read.
      destroy()
      return
    }
    isFrameNew = false
    const view = input.view()
    picture?.draw(rotationOf(view, device), reachOf(view.fov, canvas.width, canvas.height))
  }

  function fit() {
    const scale = Math.min(window.devicePixelRatio, mostPixelsPerPixel)
    const width = Math.max(1, Math.round(layer.clientWidth * scale))
    const height = Math.max(1, Math.round(layer.clientHeight * scale))
    if (canvas.width === width && canvas.height === height) return
    Object.assign(canvas, { width, height })
    // At once, as a canvas of a new size is empty.
    paint()
  }

  function destroy() {
    if (over.signal.aborted) return
    over.abort()
    if (drawing !== undefined) cancelAnimationFrame(drawing)
    sizes.disconnect()
    frames.destroy()
    motion.destroy()
    input.destroy()
    picture?.destroy()
    added.destroy()
  }

  return { destroy }
}

/** Tells each time that the video shows another frame. */
function watchFrames(video: HTMLVideoElement, onFrame: () => void): { destroy(): void } {
  const over = new AbortController()
  const { signal } = over
  for (const type of ['loadeddata', 'seeked', 'resize']) video.addEventListener(type, onFrame, { signal })
  if ('requestVideoFrameCallback' in video) {
    const next = () => {
      onFrame()
      asked = video.requestVideoFrameCallback(next)
    }
    let asked = video.requestVideoFrameCallback(next)
    signal.addEventListener('abort', () => video.cancelVideoFrameCallback(asked))
  } else {
    followClock(video, onFrame, signal)
  }
  return { destroy: () => over.abort() }
}

/** Where the browser tells of no frames: at each of its own while the video plays. */
function followClock(video: HTMLMediaElement, onFrame: () => void, signal: AbortSignal) {
  let asked: number | undefined
  const next = () => {
    asked = undefined
    onFrame()
    if (!video.paused && !video.ended) start()
  }
  const start = () => {
    asked ??= requestAnimationFrame(next)
  }
  video.addEventListener('playing', start, { signal })
  if (!video.paused) start()
  signal.addEventListener('abort', () => asked !== undefined && cancelAnimationFrame(asked))
}
