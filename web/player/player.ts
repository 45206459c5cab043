import { fetchConfig, type PlayerConfig } from './config.ts'
import { controlNames } from './control-names.ts'
import { buildControls, type Controls } from './controls.ts'
import type { Media } from './media.ts'
import type { Options } from './options.ts'
import { type Face, type FaceName, showFace } from './status-screen.ts'
import type { Stream } from './stream.ts'
import { applyColours } from './theme.ts'

/** One video on the page, from its first face to its end. */
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

/** How often a viewer who waits looks for better qualities. */
const growMs = 4000

type Told = {
  /** It cannot be played, and the face for it is shown. */
  onError(): void
}

/** Puts the player around a video that may be playing already. */
export function startPlayer(media: Media, config: PlayerConfig, options: Options, told: Told): Player {
  const over = new AbortController()
  const { signal } = over
  const { video, stream } = media
  let isLooping = options.loop
  let isChromeless = false
  /** Who has used the controls of the sound knows where they are. */
  let hasTouchedSound = false
  let face: Face | undefined
  let panorama: Promise<{ destroy(): void }> | undefined

  addTracks(video, config, options.showSubtitles)
  const controls = buildControls(video, config)
  const { controller, unmute } = controls
  applyColours(controller, config.theme)
  controller.toggleAttribute('nohotkeys', !options.hotkeys)
  controls.setTitleShown(!options.hideTitle && config.title !== '')
  controls.setPosterShown(!options.hidePoster)
  if (options.hideControls) controls.hide(controlNames)
  setChromeless(options.chromeless)
  const countQualities = () => controls.setQualityCount(stream.qualities.length)
  countQualities()
  stream.qualities.addEventListener('addrendition', countQualities)
  document.body.append(controller)
  if (config.isPanoramic) {
    panorama = import('./panorama.ts').then(({ startPanorama }) => startPanorama(video, controller))
    panorama.catch(() => {})
  }

  /** Shows the state of the video where it has changed, and else that playing failed. */
  async function fail(status: number | undefined) {
    let name: FaceName = 'error'
    if (status !== undefined) {
      const { state } = await fetchConfig(new URL(config.self, location.origin)).catch(() => config)
      if (state !== 'ready') name = state
    }
    if (signal.aborted) return
    hideFace()
    const retry = () => {
      hideFace()
      stream.retry()
      video.play().catch(() => {})
    }
    face = showFace(document.body, name, name === 'error' ? retry : undefined)
    // What lies behind it is out of reach.
    controller.inert = true
    told.onError()
  }

  function hideFace() {
    face?.remove()
    face = undefined
    controller.inert = false
  }

  function setChromeless(isOn: boolean) {
    isChromeless = isOn
    controller.classList.toggle('chromeless', isOn)
    controller.toggleAttribute('gesturesdisabled', isOn || config.isPanoramic || !controls.hasAny())
    showUnmute()
  }

  function showUnmute() {
    unmute.hidden = !video.muted || isChromeless || video.paused || hasTouchedSound
  }
  unmute.addEventListener('click', () => {
    video.muted = false
    if (video.volume === 0) video.volume = 1
    controller.querySelector<HTMLElement>('media-mute-button')?.focus()
  })
  const on = (type: string, listener: () => void) => video.addEventListener(type, listener, { signal })
  on('volumechange', () => {
    if (!video.muted) hasTouchedSound = true
    showUnmute()
  })
  on('play', showUnmute)
  on('pause', showUnmute)
  on('playing', hideFace)

  /** A part of the video ends where it was asked to, and begins again there. */
  on('timeupdate', () => {
    const { endSeconds } = options
    if (endSeconds === undefined || video.paused || video.seeking || video.currentTime < endSeconds) return
    // Who has gone past the end by hand wants to see what is there.
    if (video.currentTime > endSeconds + 1) return
    if (isLooping) video.currentTime = options.startSeconds ?? 0
    else video.pause()
  })
  setLoop(isLooping)

  function setLoop(isOn: boolean) {
    isLooping = isOn
    video.loop = isOn
  }

  showUnmute()
  media.onFailure((status) => void fail(status))
  keepFocus(controller, video, signal)
  forwardKeys(controller, options.hotkeys, signal)
  const growing = setInterval(() => {
    // hls.js reads the list of qualities once. Before anything is played, nobody sees it read it again.
    if (video.paused && video.played.length === 0) stream.refresh().catch(() => {})
  }, growMs)

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
    setLoop,
    setChromeless,
    setSubtitlesShown(isShown) {
      const captions = [...video.textTracks].filter(({ kind }) => kind === 'captions' || kind === 'subtitles')
      const wanted = captions.find(({ mode }) => mode === 'showing') ?? captions[0]
      for (const track of captions) track.mode = isShown && track === wanted ? 'showing' : 'disabled'
    },
    destroy() {
      over.abort()
      clearInterval(growing)
      face?.remove()
      panorama?.then((view) => view.destroy()).catch(() => {})
      media.destroy()
      controller.remove()
    },
  }
}

function addTracks(video: HTMLVideoElement, config: PlayerConfig, showSubtitles: boolean): void {
  const add = (attributes: Record<string, string>) => {
    const track = video.appendChild(document.createElement('track'))
    for (const [name, value] of Object.entries(attributes)) track.setAttribute(name, value)
  }
  if (config.sprites) add({ kind: 'metadata', label: 'thumbnails', default: '', src: config.sprites })
  for (const { src, srclang, label } of config.chapters.slice(0, 1)) {
    add({ kind: 'chapters', default: '', src, srclang, label })
  }
  const shown = config.captions.find((each) => each.default) ?? config.captions[0]
  for (const each of config.captions) {
    const { src, srclang, label } = each
    const isShown = each === shown && (showSubtitles || each.default)
    add({ kind: 'captions', src, srclang, label, ...(isShown && { default: '' }) })
  }
}

/** The large button is gone once it was pressed: who pressed it by keyboard goes on at the small one. */
function keepFocus(controller: HTMLElement, video: HTMLVideoElement, signal: AbortSignal): void {
  const [big, small] = ['.big', '.play'].map((each) => controller.querySelector<HTMLElement>(each))
  video.addEventListener('play', () => document.activeElement === big && small?.focus(), { signal })
}

/** Keys work as soon as the page has the focus, before anything in it does. */
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
