import { controlNames } from './controls/control-names.ts'
import { buildControls, type Controls } from './controls/controls.ts'
import { watchEnd } from './controls/ending.ts'
import { fitFrame } from './controls/fit.ts'
import { watchGestures } from './controls/gestures.ts'
import { startKeyboard } from './controls/keyboard.ts'
import { showNotices } from './controls/notices.ts'
import { seekTo } from './controls/seek.ts'
import { addPreviews } from './controls/sprites.ts'
import { openTimeline, setTimeline, type Timeline } from './controls/timeline.ts'
import { watchTimelineKeys } from './controls/timeline-keys.ts'
import { element } from './element.ts'
import { type FailureCallbacks, showFailures } from './failures.ts'
import { startLive } from './live/live-player.ts'
import { main } from './main-element.ts'
import type { Media } from './media.ts'
import type { Options } from './options.ts'
import { rememberPlayback } from './playback-memory.ts'
import type { PlayerConfig } from './player-config.ts'
import type { Stream } from './stream/stream-type.ts'
import { applyColors } from './theme.ts'
import { startTracks } from './tracks.ts'
import { watchUpdates } from './updates.ts'

/** A video with its controls. */
export type Player = {
  config: PlayerConfig
  options: Options
  video: HTMLVideoElement
  controls: Controls
  stream: Stream
  /** Undefined for a live stream. */
  timeline: Timeline | undefined
  /** Seeks within the part of the video that is playable. */
  seek(seconds: number): void
  setAutoplay(isOn: boolean): void
  setLoop(isOn: boolean): void
  setChromeless(isOn: boolean): void
  setSubtitlesShown(isShown: boolean): void
  /** The state of the live stream has changed. */
  updateLive(config: PlayerConfig): void
  destroy(): void
}

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
  const live = config.live ? startLive(media, controls, { config, callbacks, signal }) : undefined
  const timeline = live ? undefined : openTimeline(media, config)
  const notices = showNotices({ video, stream, controls, timeline, liveState: live?.state, signal })
  if (options.startSeconds) notices.setWanted(options.startSeconds)
  const seek = live ? live.edge.seek : (seconds: number) => seekTo(media, seconds, notices)
  if (timeline) setTimeline(controls.controller, timeline, seek)
  const range = (): [number, number] => live?.edge.range() ?? [0, timeline?.durationSeconds() ?? 0]
  const { controller } = controls
  const addSprites = (src: string) => addPreviews(video, controller, src)
  if (config.sprites) addSprites(config.sprites)
  const unmuteButton = setUpUnmuteButton(video, controls, signal)
  const setChromeless = (isOn: boolean) => {
    controls.setChromeless(isOn)
    unmuteButton.setAllowed(!isOn)
  }
  setChromeless(options.chromeless)
  const heading = element(
    'h1',
    { class: 'visually-hidden' },
    config.title || (live ? 'Live stream' : 'Video'),
  )
  main.append(heading, controller)
  // media-chrome calls it "video player" and makes it a tab stop, but shortcuts work without focus.
  if (config.title) controller.setAttribute('aria-label', config.title)
  controller.removeAttribute('tabindex')
  const panorama = config.isPanoramic ? openPanorama(video, controller) : undefined
  showFailures({ media, config, controller, callbacks, signal })
  video.loop = options.loop && !live
  fitFrame(controller, video, signal)
  watchViewer(media, controls, { options, range, signal, seek })
  const tracks = startTracks(media, controls, { config, options, signal, seek })
  if (timeline)
    watchUpdates({ video, stream, timeline, config, setPoster: controls.setPoster, addSprites, signal })

  return {
    config,
    options,
    video,
    controls,
    stream,
    timeline,
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
    updateLive: (next) => live?.update(next),
    destroy() {
      abort.abort()
      panorama?.then((view) => view.destroy()).catch(() => {})
      media.destroy()
      controller.remove()
      heading.remove()
    },
  }
}

type Target = {
  options: Options
  range(): [start: number, end: number]
  signal: AbortSignal
  seek(seconds: number): void
}

function watchViewer({ video, stream }: Media, controls: Controls, target: Target): void {
  const { controller, has } = controls
  const { options, range, signal, seek } = target
  watchEnd({ video, controller, options, signal })
  watchGestures({ controller, video, has, seek, signal })
  rememberPlayback(controller, video, signal)
  watchTimelineKeys({ controller, video, hasShortcuts: options.hotkeys, seek, signal })
  if (options.hotkeys) startKeyboard({ controller, video, stream, range, seek, signal })
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
  for (const type of ['addrendition', 'removerendition'])
    stream.qualities.addEventListener(type, updateQualities)
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
  const panorama = import('./panorama/panorama.ts').then(({ startPanorama }) => startPanorama(video, host))
  panorama.catch(() => {})
  return panorama
}
