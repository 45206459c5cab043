import { fetchConfig } from './config.ts'
import { controlNames } from './control-names.ts'
import { buildControls, type Controls } from './controls.ts'
import type { Media } from './media.ts'
import type { Options } from './options.ts'
import type { PlayerConfig } from './player-config.ts'
import { addPreviews } from './sprites.ts'
import { type Status, type StatusScreen, showStatusScreen } from './status-screen.ts'
import type { Stream } from './stream.ts'
import { applyColors } from './theme.ts'
import { startTracks } from './tracks.ts'

/** A video with its controls. */
export type Player = {
  config: PlayerConfig
  options: Options
  video: HTMLVideoElement
  controls: Controls
  stream: Stream
  setAutoplay(isOn: boolean): void
  setLoop(isOn: boolean): void
  setChromeless(isOn: boolean): void
  setSubtitlesShown(isShown: boolean): void
  destroy(): void
}

/** How often the player checks for new qualities before the first play. */
const refreshMs = 4000

type Callbacks = {
  /** The video cannot be played, and the status screen says so. */
  onError(): void
}

/** Adds the controls to a video that may already be playing. */
export function startPlayer(
  media: Media,
  config: PlayerConfig,
  options: Options,
  callbacks: Callbacks,
): Player {
  const abort = new AbortController()
  const { signal } = abort
  const { video, stream } = media

  const controls = createControls(media, config, options)
  const { controller } = controls
  if (config.sprites) addPreviews(video, controller, config.sprites)
  const unmuteButton = setUpUnmuteButton(video, controls, signal)
  const setChromeless = (isOn: boolean) => {
    controller.classList.toggle('chromeless', isOn)
    controller.toggleAttribute('gesturesdisabled', isOn || config.isPanoramic || !controls.hasAny())
    unmuteButton.setAllowed(!isOn)
  }
  setChromeless(options.chromeless)
  document.body.append(controller)
  const panorama = config.isPanoramic ? openPanorama(video, controller) : undefined
  const failure = showFailures(media, config, controller, { signal, onError: callbacks.onError })
  stopAtEnd(video, options, signal)
  video.loop = options.loop
  keepFocus(controller, video, signal)
  const tracks = startTracks(media, controls, { config, options, signal })
  forwardKeys(controller, options.hotkeys, signal)
  const refreshing = setInterval(() => {
    // hls.js reads the list of qualities only once. Before the first play, reloading it is not visible.
    if (video.paused && video.played.length === 0) stream.refresh().catch(() => {})
  }, refreshMs)

  return {
    config,
    options,
    video,
    controls,
    stream,
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
      clearInterval(refreshing)
      failure.hide()
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

/** Shows a status screen when playback fails, and hides it when the video plays again. */
function showFailures(
  media: Media,
  config: PlayerConfig,
  controller: HTMLElement,
  { signal, onError }: { signal: AbortSignal; onError(): void },
): { hide(): void } {
  const { video, stream } = media
  let screen: StatusScreen | undefined

  function hide() {
    screen?.remove()
    screen = undefined
    controller.inert = false
  }

  function retry() {
    hide()
    stream.retry()
    video.play().catch(() => {})
  }

  /** After an error response, the video may have been deleted or made private in the meantime. */
  async function show(responseStatus: number | undefined) {
    let status: Status = 'error'
    if (responseStatus !== undefined) {
      const { state } = await fetchConfig(new URL(config.self, location.origin)).catch(() => config)
      if (state !== 'ready') status = state
    }
    if (signal.aborted) return
    hide()
    screen = showStatusScreen(document.body, status, status === 'error' ? retry : undefined)
    // Keeps the keyboard focus out of the controls behind the screen.
    controller.inert = true
    onError()
  }

  video.addEventListener('playing', hide, { signal })
  media.onFailure((responseStatus) => void show(responseStatus))
  return { hide }
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
