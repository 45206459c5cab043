type Target = {
  controller: HTMLElement
  video: HTMLVideoElement
  /** Whether the player has shortcuts, which change the volume with the arrows up and down. */
  hasShortcuts: boolean
  seek(seconds: number): void
  signal: AbortSignal
}

/** As far as the arrows move without the timeline. */
const stepSeconds = 10

/**
 * The timeline has the focus after a click on it. Its arrow keys then do what they do everywhere else: the slider of
 * media-chrome would move by 1 % of the video.
 */
export function watchTimelineKeys({ controller, video, hasShortcuts, seek, signal }: Target): void {
  const timeline = controller.querySelector<HTMLElement>('media-time-range')
  if (!timeline) return
  timeline.setAttribute('keysused', 'ArrowLeft ArrowRight')
  const press = (event: KeyboardEvent) => {
    const { key, ctrlKey, altKey, metaKey } = event
    if (ctrlKey || altKey || metaKey || !/^Arrow/.test(key)) return
    event.preventDefault()
    if (hasShortcuts && ['ArrowUp', 'ArrowDown'].includes(key)) return
    const isForward = ['ArrowRight', 'ArrowUp'].includes(key)
    seek(video.currentTime + (isForward ? stepSeconds : -stepSeconds))
  }
  timeline.addEventListener('keydown', press, { signal })
}
