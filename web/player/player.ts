import { fetchConfig } from './config.ts'
import { controlNames } from './control-names.ts'
import { buildControls, type Controls } from './controls.ts'
import { watchEnd } from './ending.ts'
import { fitFrame } from './fit.ts'
import { watchGestures } from './gestures.ts'
import { startKeyboard } from './keyboard.ts'
import { main } from './main-element.ts'
import type { Media } from './media.ts'
import type { Options } from './options.ts'
import { rememberPlayback } from './playback-memory.ts'
import type { PlayerConfig } from './player-config.ts'
import { seekTo } from './seek.ts'
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
  /** Seeks within the part of the video that is playable. */
  seek(seconds: number): void
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
    controls.setChromeless(isOn)
    unmuteButton.setAllowed(!isOn)
  }
  setChromeless(options.chromeless)
  main.append(controller)
  // media-chrome calls it "video player" and makes it a tab stop, but shortcuts work without focus.
  if (config.title) controller.setAttribute('aria-label', config.title)
  controller.removeAttribute('tabindex')
  const panorama = config.isPanoramic ? openPanorama(video, controller) : undefined
  const failure = showFailures(media, config, controller, { signal, onError: callbacks.onError })
  video.loop = options.loop
  fitFrame(controller, video, signal)
  const seek = (seconds: number) => seekTo(video, seconds)
  watchViewer(media, controls, { config, options, signal, seek })
  const tracks = startTracks(media, controls, { config, options, signal })
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
      clearInterval(refreshing)
      failure.hide()
      panorama?.then((view) => view.destroy()).catch(() => {})
      media.destroy()
      controller.remove()
    },
  }
}

type Target = { config: PlayerConfig; options: Options; signal: AbortSignal; seek(seconds: number): void }

function watchViewer({ video, stream }: Media, controls: Controls, target: Target): void {
  const { controller, has } = controls
  const { config, options, signal, seek } = target
  watchEnd({ video, controller, options, signal })
  watchGestures({ controller, video, has, seek, signal })
  rememberPlayback(controller, video, signal)
  if (options.hotkeys) startKeyboard({ controller, video, stream, config, seek, signal })
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
    if (video.volume === 0) video.volume = 1
    controller.dispatchEvent(new CustomEvent('mediaunmuterequest'))
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
    screen = showStatusScreen(main, status, status === 'error' ? retry : undefined)
    // Keeps the keyboard focus out of the controls behind the screen.
    controller.inert = true
    onError()
  }

  video.addEventListener('playing', hide, { signal })
  media.onFailure((responseStatus) => void show(responseStatus))
  return { hide }
}
