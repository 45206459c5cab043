/** A video whose shape differs by less than this fraction fills the frame. */
const tolerance = 0.006

/**
 * Lets the video and the poster fill a frame of almost the same shape. Whole pixels never have exactly the same shape, as
 * 854 x 480 and 16:9, and a black line would remain at the edge.
 */
export function fitFrame(controller: HTMLElement, video: HTMLVideoElement, signal: AbortSignal): void {
  const poster = controller.querySelector<HTMLImageElement>('.poster')
  const fit = () => {
    const { clientWidth, clientHeight } = controller
    const frame = clientWidth / clientHeight
    const fills = (width: number, height: number) => Math.abs(width / height / frame - 1) < tolerance
    video.classList.toggle('fills', fills(video.videoWidth, video.videoHeight))
    poster?.classList.toggle('fills', fills(poster.naturalWidth, poster.naturalHeight))
  }
  const observer = new ResizeObserver(fit)
  observer.observe(controller)
  signal.addEventListener('abort', () => observer.disconnect())
  video.addEventListener('resize', fit, { signal })
  poster?.addEventListener('load', fit, { signal })
}
