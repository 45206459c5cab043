import type { Options } from '../options.ts'

type Target = {
  video: HTMLVideoElement
  controller: HTMLElement
  options: Pick<Options, 'startSeconds' | 'endSeconds'>
  signal: AbortSignal
}

/** Stops or loops at the requested end, and turns the play buttons into replay buttons at the end. */
export function watchEnd({ video, controller, options, signal }: Target): void {
  const { startSeconds = 0, endSeconds } = options
  let isStopped = false

  const stop = () => {
    if (endSeconds === undefined || video.paused || video.seeking || video.currentTime < endSeconds) return
    // A viewer who seeks past the end wants to see what is there.
    if (video.currentTime > endSeconds + 1) return
    if (video.loop) {
      video.currentTime = startSeconds
      return
    }
    isStopped = true
    video.pause()
  }
  const replay = () => {
    if (isStopped) video.currentTime = startSeconds
  }
  const leave = () => {
    isStopped = false
  }
  const update = () => setReplay(controller, video, video.ended || isStopped)

  video.addEventListener('timeupdate', stop, { signal })
  video.addEventListener('play', replay, { signal })
  video.addEventListener('seeking', leave, { signal })
  for (const type of ['play', 'pause', 'ended', 'seeking', 'seeked', 'emptied'])
    video.addEventListener(type, update, { signal })
}

function setReplay(controller: HTMLElement, video: HTMLVideoElement, isReplay: boolean): void {
  controller.classList.toggle('ended', isReplay)
  const button = controller.querySelector('.play')
  const name = isReplay ? 'replay' : video.paused ? 'play' : 'pause'
  button?.setAttribute('aria-label', name)
  const tooltip = button?.querySelector('[slot=tooltip-play]')
  const label = isReplay ? 'Replay' : 'Play'
  // Replacing the text makes the browser compute the styles of all controls again, which delays a seek.
  if (tooltip && tooltip.textContent !== label) tooltip.textContent = label
}
