import { controlNames } from './control-names.ts'
import { buildControls, type Controls } from './controls.ts'
import { type FailureCallbacks, showFailures } from './failures.ts'
import type { Media } from './media.ts'
import { type Notices, showNotices } from './notices.ts'
import type { Options } from './options.ts'
import type { PlayerConfig } from './player-config.ts'
import { addPreviews } from './sprites.ts'
import type { Stream } from './stream-type.ts'
import { applyColors } from './theme.ts'
import { setTimeline } from './timeline.ts'
import { startTracks } from './tracks.ts'
import { watchUpdates } from './updates.ts'

/** A video with its controls. */
export type Player = {
  config: PlayerConfig
  options: Options
  video: HTMLVideoElement
  controls: Controls
  stream: Stream
  /** Seeks within the part of the video that is playable. */
  seek(seconds: number): void
  setAutoplay(isOn: boolean): void
  setLoop(isOn: boolean): void
  setChromeless(isOn: boolean): void
  setSubtitlesShown(isShown: boolean): void
  destroy(): void
}

/** A seek beyond the playable part ends this long before its end, so that there is something to see. */
const limitSeconds = 1

/** Adds the controls to a video that may already be playing. */
export function startPlayer(
  media: Media,
  config: PlayerConfig,
  options: Options,
  callbacks: FailureCallbacks,
): Player {
  const abort = new AbortController()
  const { signal } = abort
  const { video, stream } = media

  const controls = createControls(media, config, options)
  const { durationSeconds } = config
  const notices = showNotices({ video, stream, controls, durationSeconds, signal })
  if (options.startSeconds) notices.setWanted(options.startSeconds)
  const seek = (seconds: number) => seekTo(media, seconds, notices)
  if (durationSeconds) setTimeline(controls.controller, durationSeconds, seek)
  const { controller } = controls
  const addSprites = (src: string) => addPreviews(video, controller, src)
  if (config.sprites) addSprites(config.sprites)
  const unmuteButton = setUpUnmuteButton(video, controls, signal)
  const setChromeless = (isOn: boolean) => {
    controller.classList.toggle('chromeless', isOn)
    controller.toggleAttribute('gesturesdisabled', isOn || config.isPanoramic || !controls.hasAny())
    unmuteButton.setAllowed(!isOn)
  }
  setChromeless(options.chromeless)
  document.body.append(controller)
  const panorama = config.isPanoramic ? openPanorama(video, controller) : undefined
  showFailures({ media, config, controller, callbacks, signal })
  stopAtEnd(video, options, signal)
  video.loop = options.loop
  keepFocus(controller, video, signal)
  const tracks = startTracks(media, controls, { config, options, signal })
  forwardKeys(controller, options.hotkeys, signal)
  watchUpdates({ video, stream, config, setPoster: controls.setPoster, addSprites, signal })

  return {
    config,
    options,
    video,
    controls,
    stream,
    seek,
    setAutoplay(isOn) {
      video.autoplay = isOn
      if (isOn && video.paused && video.played.length === 0) media.autoplay()
    },
    setLoop(isOn) {
      video.loop = isOn
    },
    setChromeless,
    setSubtitlesShown: (isShown) => tracks.setSubtitlesShown(isShown),
    destroy() {
      abort.abort()
      panorama?.then((view) => view.destroy()).catch(() => {})
      media.destroy()
      controller.remove()
    },
  }
}

function createControls({ video, stream }: Media, config: PlayerConfig, options: Options): Controls {
  const controls = buildControls(video, config)
  applyColors(controls.controller, config.theme)
  controls.controller.toggleAttribute('nohotkeys', !options.hotkeys)
  controls.setTitleShown(!options.hideTitle && config.title !== '')
  if (config.poster) controls.setPoster(config.poster)
  controls.setPosterShown(!options.hidePoster)
  if (options.hideControls) controls.hide(controlNames)
  const updateQualities = () => controls.setQualityCount(stream.qualities.length)
  updateQualities()
  stream.qualities.addEventListener('addrendition', updateQualities)
  return controls
}

/** Shows the unmute button while a muted video plays, until the viewer has turned on the sound once. */
function setUpUnmuteButton(
  video: HTMLVideoElement,
  { controller, unmute }: Controls,
  signal: AbortSignal,
): { setAllowed(isAllowed: boolean): void } {
  let isAllowed = true
  let wasUnmuted = false
  const update = () => {
    unmute.hidden = !video.muted || !isAllowed || video.paused || wasUnmuted
  }
  unmute.addEventListener('click', () => {
    video.muted = false
    if (video.volume === 0) video.volume = 1
    controller.querySelector<HTMLElement>('media-mute-button')?.focus()
  })
  video.addEventListener(
    'volumechange',
    () => {
      if (!video.muted) wasUnmuted = true
      update()
    },
    { signal },
  )
  video.addEventListener('play', update, { signal })
  video.addEventListener('pause', update, { signal })
  return {
    setAllowed(isOn) {
      isAllowed = isOn
      update()
    },
  }
}

function openPanorama(video: HTMLVideoElement, host: HTMLElement): Promise<{ destroy(): void }> {
  const panorama = import('./panorama.ts').then(({ startPanorama }) => startPanorama(video, host))
  panorama.catch(() => {})
  return panorama
}

function seekTo({ video, stream }: Media, seconds: number, notices: Notices): void {
  if (!Number.isFinite(seconds)) return
  notices.setWanted(seconds)
  const playable = stream.playableSeconds() ?? Number.POSITIVE_INFINITY
  const target = seconds > playable ? Math.max(video.currentTime, playable - limitSeconds) : seconds
  // Beyond the end of the video, the browser seeks to its end.
  video.currentTime = Math.max(0, target)
}

/** Stops or loops at the requested end. */
function stopAtEnd(
  video: HTMLVideoElement,
  { startSeconds, endSeconds }: Options,
  signal: AbortSignal,
): void {
  const check = () => {
    if (endSeconds === undefined || video.paused || video.seeking || video.currentTime < endSeconds) return
    // A viewer who seeks past the end wants to see what is there.
    if (video.currentTime > endSeconds + 1) return
    if (video.loop) video.currentTime = startSeconds ?? 0
    else video.pause()
  }
  video.addEventListener('timeupdate', check, { signal })
}

/** The large play button disappears when it is pressed. A keyboard user continues at the small one. */
function keepFocus(controller: HTMLElement, video: HTMLVideoElement, signal: AbortSignal): void {
  const [big, small] = ['.big', '.play'].map((selector) => controller.querySelector<HTMLElement>(selector))
  video.addEventListener('play', () => document.activeElement === big && small?.focus(), { signal })
}

/** Forwards keys from the page, so that shortcuts work before an element of the player has the focus. */
function forwardKeys(controller: HTMLElement, isOn: boolean, signal: AbortSignal): void {
  if (!isOn) return
  for (const type of ['keydown', 'keyup'] as const) {
    const forward = (event: KeyboardEvent) => {
      if (event.target !== document.body || event.ctrlKey || event.altKey || event.metaKey) return
      if (event.key === ' ' || event.key.startsWith('Arrow')) event.preventDefault()
      controller.dispatchEvent(new KeyboardEvent(type, event))
    }
    document.addEventListener(type, forward, { signal })
  }
}
