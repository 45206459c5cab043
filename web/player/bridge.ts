import { type ControlName, controlNames } from './controls/control-names.ts'
import type { Player } from './player.ts'
import type { Colors } from './player-config.ts'
import { applyColors } from './theme.ts'

// The published SDK controls the player from the embedding page by messages.

type Peer = { sdkPlayerId: string | undefined; origin: string | undefined }

export type Bridge = {
  /** Sends commands to this player from now on. */
  connect(player: Player): void
  sendError(): void
}

type Callbacks = {
  loadConfig(url: string): void
  destroy(): void
}

/** Accepts messages only from the parent window, and only from its origin if the URL names one. */
export function openBridge({ sdkPlayerId, origin }: Peer, callbacks: Callbacks): Bridge {
  let player: Player | undefined
  let connection: AbortController | undefined

  function send(message: Record<string, unknown>) {
    parent.postMessage({ ...message, sdkPlayerId }, origin ?? '*')
  }

  window.addEventListener('message', (event) => {
    const { data } = event
    if (event.source !== parent || (origin !== undefined && event.origin !== origin)) return
    if (typeof data !== 'object' || data === null || typeof data.message !== 'string') return
    if (sdkPlayerId !== undefined && String(data.sdkPlayerId) !== sdkPlayerId) return
    if (data.message === 'loadConfig') return callbacks.loadConfig(String(data.url))
    if (data.message === 'destroy') return callbacks.destroy()
    if (!player) return
    const read = Object.hasOwn(reads, data.message) ? reads[data.message] : undefined
    if (read) return send({ callbackId: data.callbackId, arg: read(player) })
    const command = Object.hasOwn(commands, data.message) ? commands[data.message] : undefined
    command?.(player, data, (type) => send({ type }))
  })

  /** The SDK queues its commands until it receives this message, so none is lost while a video is processed. */
  let isSynced = false
  function sync() {
    if (!isSynced) send({ type: 'sdkSync' })
    isSynced = true
  }

  return {
    connect(next) {
      connection?.abort()
      connection = new AbortController()
      player = next
      sync()
      sendEvents(next, connection.signal, (type, data) => send({ type, ...data }))
    },
    sendError() {
      sync()
      send({ type: 'error' })
    },
  }
}

type Send = (type: string, data?: Record<string, unknown>) => void

function sendEvents({ video, controls }: Player, signal: AbortSignal, send: Send): void {
  const on = (target: EventTarget | undefined, type: string, listener: (event: Event) => void) =>
    target?.addEventListener(type, listener, { signal })
  const { controller } = controls
  for (const type of ['play', 'pause', 'ended', 'seeking', 'ratechange', 'resize'])
    on(video, type, () => send(type))
  on(video, 'timeupdate', () => send('timeupdate', { currentTime: video.currentTime }))
  on(video, 'volumechange', () => send('volumechange', { volume: video.volume }))
  on(video, 'resize', () => {
    send('qualitychange', { resolution: { height: video.videoHeight, width: video.videoWidth } })
  })
  let hasPlayed = false
  on(video, 'play', () => {
    if (!hasPlayed) send('firstplay')
    hasPlayed = true
  })
  let isReady = false
  const ready = () => {
    if (!isReady) send('ready')
    isReady = true
  }
  if (video.readyState > 0) ready()
  on(video, 'loadedmetadata', ready)
  on(document, 'fullscreenchange', () =>
    send('fullscreenchange', { isFullScreen: document.fullscreenElement !== null }),
  )
  on(document.documentElement, 'mouseenter', () => send('mouseenter'))
  on(document.documentElement, 'mouseleave', () => send('mouseleave'))
  on(controller, 'userinactivechange', ({ detail }: Event & { detail?: unknown }) => {
    send(detail ? 'userinactive' : 'useractive')
  })
  on(video, 'webkitcurrentplaybacktargetiswirelesschanged', () => {
    const { webkitCurrentPlaybackTargetIsWireless: isWireless } = video as {
      webkitCurrentPlaybackTargetIsWireless?: boolean
    }
    send(isWireless ? 'airplayConnected' : 'airplayDisconnected')
  })
  on(video.remote, 'connect', () => send('chromecastConnected'))
  on(video.remote, 'disconnect', () => send('chromecastDisconnected'))
  const observer = new ResizeObserver(() => send('playerresize'))
  observer.observe(controller)
  signal.addEventListener('abort', () => observer.disconnect())
}

const reads: Record<string, (player: Player) => unknown> = {
  getPaused: ({ video }) => video.paused,
  getPlaying: ({ video }) => !video.paused && !video.ended,
  getMuted: ({ video }) => video.muted,
  // While the video is being encoded, the element knows only the part that is playable.
  getDuration: ({ video, timeline }) => timeline?.durationSeconds() ?? video.duration,
  getCurrentTime: ({ video }) => video.currentTime,
  getPlaybackRate: ({ video }) => video.playbackRate,
  getVolume: ({ video }) => video.volume,
  getLoop: ({ video }) => video.loop,
  getVideoSize: ({ video }) => ({ width: video.videoWidth, height: video.videoHeight }),
  getMp4Url: ({ config }) => config.mp4 && new URL(config.mp4, location.href).href,
  isLiveStream: ({ config }) => config.type === 'live',
}

// biome-ignore lint/suspicious/noExplicitAny: messages are untrusted; each command checks the fields it uses
type Command = (player: Player, data: any, send: (type: string) => void) => void

/** Browsers reject some commands without a user gesture. The embedding page sees that nothing happened. */
const ignore = () => {}

const commands: Record<string, Command> = {
  play: ({ video }) => void video.play().catch(ignore),
  pause: ({ video }) => video.pause(),
  mute({ video }) {
    video.muted = true
  },
  unmute({ video }) {
    video.muted = false
  },
  seek: (player, { seek }) => player.seek(player.video.currentTime + Number(seek)),
  setCurrentTime: (player, { currentTime }) => player.seek(Number(currentTime)),
  setVolume({ video }, { volume }) {
    if (Number.isFinite(Number(volume))) video.volume = Math.min(1, Math.max(0, Number(volume)))
  },
  setAutoplay: (player, { autoplay }) => player.setAutoplay(autoplay === true),
  setLoop: (player, { loop }) => player.setLoop(loop === true),
  setChromeless: (player, { chromeless }) => player.setChromeless(chromeless === true),
  setPlaybackRate({ video }, { rate }) {
    // Browsers throw outside of this range.
    if (Number(rate) >= 0.0625 && Number(rate) <= 16) video.playbackRate = Number(rate)
  },
  setTheme({ controls }, { theme }) {
    if (typeof theme === 'object' && theme !== null)
      applyColors(controls.controller, theme as Partial<Colors>)
  },
  setLogo({ controls }, { logo, link }) {
    const url = typeof logo === 'string' ? URL.parse(logo, location.href) : null
    // Only logos of this service.
    const isOwn = url?.origin === location.origin
    controls.setLogo({ logo: isOwn ? url.href : null, logoLink: typeof link === 'string' ? link : null })
  },
  setStyleProperty: ({ controls }, { query, property, value }) =>
    setStyle(controls.controller, String(query), String(property), String(value)),
  setMinimalQuality: ({ stream }, { quality }) => stream.setMinQuality(Number(quality)),
  setMaximalQuality: ({ stream }, { quality }) => stream.setMaxQuality(Number(quality)),
  hideControls: (player, { controls }, send) => changeControls(player, 'hide', controls, send),
  showControls: (player, { controls }, send) => changeControls(player, 'show', controls, send),
  hideSubtitles: (player) => player.setSubtitlesShown(false),
  showSubtitles: (player) => player.setSubtitlesShown(true),
  hideTitle: ({ controls }) => controls.setTitleShown(false),
  showTitle: ({ controls, config }) => controls.setTitleShown(config.title !== ''),
  hidePoster: ({ controls }) => controls.setPosterShown(false),
  showPoster: ({ controls }) => controls.setPosterShown(true),
  requestFullscreen: ({ controls }) => void controls.controller.requestFullscreen?.().catch(ignore),
  exitFullscreen: () => void (document.fullscreenElement && document.exitFullscreen().catch(ignore)),
  requestPictureInPicture: ({ video }) => void video.requestPictureInPicture?.().catch(ignore),
  exitPictureInPicture: () =>
    void (document.pictureInPictureElement && document.exitPictureInPicture().catch(ignore)),
}

function changeControls(
  { controls }: Player,
  change: 'hide' | 'show',
  requested: unknown,
  send: (type: string) => void,
): void {
  const hadAny = controls.hasAny()
  const isAll = !Array.isArray(requested)
  const names = isAll ? controlNames : controlNames.filter((name: ControlName) => requested.includes(name))
  controls[change](names)
  if (hadAny !== controls.hasAny()) send(controls.hasAny() ? 'controlsenabled' : 'controlsdisabled')
}

/** Maps the poster of the published player, which is a background, to ours, which is an image. */
function setStyle(controller: HTMLElement, query: string, property: string, value: string): void {
  const isPoster = query === '.vjs-poster'
  const isFit = isPoster && property === 'background-size'
  const [name, set] = isFit ? ['object-fit', value === '100% 100%' ? 'fill' : value] : [property, value]
  try {
    const found = controller.querySelectorAll<HTMLElement>(isPoster ? '.poster' : query)
    for (const each of found) each.style.setProperty(name, set)
  } catch {
    // Not a valid selector.
  }
}
