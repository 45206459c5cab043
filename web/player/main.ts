import { type Bridge, openBridge } from './bridge.ts'
import { configUrlOf, fetchConfig, isPlayable, readConfig } from './config.ts'
import { firstFrame } from './first-frame.ts'
import { watchLive } from './live/live-watch.ts'
import { main } from './main-element.ts'
import { type Media, openMedia } from './media.ts'
import { type Options, readOptions, withTheme } from './options.ts'
import type { Player } from './player.ts'
import type { PlayerConfig } from './player-config.ts'
import { type Status, type StatusScreen, showStatusScreen } from './status-screen.ts'
import { applyStyles } from './styles.ts'

/** Polling intervals while a video cannot be played yet. */
const pollMs = { processing: 2000, empty: 5000 }

/** How long the controls wait for the first frame. Building them takes about as long as loading it. */
const maxWaitMs = 700

/** Identifies the latest video, so that an older asynchronous start can stop. */
let currentStart: symbol | undefined
let media: Media | undefined
let player: Player | undefined
let statusScreen: StatusScreen | undefined
let bridge: Bridge | undefined
let polling: ReturnType<typeof setTimeout> | undefined
let watching: AbortController | undefined
/** The latest state of the live stream. */
let liveConfig: PlayerConfig | undefined

/** Shows the video of a page URL, or a message if it cannot be played. */
function show(page: URL, config: PlayerConfig, isAwaited = false): void {
  clear()
  const pageOptions = withTheme(readOptions(page), config.theme)
  const options = { ...pageOptions, autoplay: pageOptions.autoplay || isAwaited }
  if (config.title) document.title = config.title
  if (!bridge && config.theme.enableApi && parent !== window && (options.api || options.sdkPlayerId)) {
    const { sdkPlayerId, sdkOrigin: origin } = options
    bridge = openBridge({ sdkPlayerId, origin }, { loadConfig: (url) => void load(url), destroy: clear })
  }
  if (config.live) watch(page, config)
  if (isPlayable(config)) void start(page, config, options)
  else showStatus(page, config, options)
}

function showStatus(page: URL, config: PlayerConfig, { hideTitle, hidePoster }: Options): void {
  const { type, live } = config
  const state = config.state as Status
  const link = live?.recording ? { href: live.recording, text: 'Watch the recording' } : undefined
  statusScreen = showStatusScreen(main, state, {
    isLive: type === 'live',
    ...(link && { link }),
    ...(live && { name: hideTitle ? '' : config.title, poster: hidePoster ? null : config.poster }),
  })
  if (state === 'processing' || state === 'empty') pollLater(page, config, state)
  else if (!live) bridge?.sendError()
}

/** Follows the state of a live stream. */
function watch(page: URL, config: PlayerConfig): void {
  const thisWatch = new AbortController()
  watching = thisWatch
  liveConfig = config
  void watchLive(config, thisWatch.signal, (next) => {
    const isSame = next.live?.version === liveConfig?.live?.version
    const isSameBroadcast = next.live !== null && next.live.broadcastId === config.live?.broadcastId
    liveConfig = next
    if (isPlayable(config) && isSameBroadcast) player?.updateLive(next)
    // A viewer who waited for the stream wants to see it.
    else if (!isSame) show(page, next, isPlayable(next))
  })
}

/** Starts the video first. The controls follow when the first frame is shown. */
async function start(page: URL, config: PlayerConfig, options: Options): Promise<void> {
  const thisStart = Symbol()
  currentStart = thisStart
  // With the SDK, the video starts later, so that the SDK receives every event.
  if (!bridge) media = openMedia(config, options)
  if (media && options.autoplay) {
    main.append(media.video)
    await firstFrame(media.video, maxWaitMs)
  }
  const { startPlayer } = await import('./player.ts')
  if (currentStart !== thisStart) return
  media ??= openMedia(config, options)
  player = startPlayer(media, config, options, {
    onError: () => bridge?.sendError(),
    onUnplayable: (next) => show(page, next),
  })
  if (liveConfig) player.updateLive(liveConfig)
  bridge?.connect(player)
}

function pollLater(page: URL, config: PlayerConfig, state: keyof typeof pollMs): void {
  polling = setTimeout(() => void poll(page, config, state), pollMs[state])
}

async function poll(page: URL, config: PlayerConfig, state: keyof typeof pollMs): Promise<void> {
  const thisPoll = polling
  const next = await fetchConfig(new URL(config.self, location.origin)).catch(() => config)
  if (polling !== thisPoll) return
  if (next.state === state) pollLater(page, config, state)
  else show(page, next)
}

/** Replaces the video, for the SDK. */
async function load(text: string): Promise<void> {
  const page = URL.canParse(text, location.href) ? new URL(text, location.href) : undefined
  if (page?.origin !== location.origin) return
  clear()
  const thisLoad = setTimeout(() => {}, 0)
  polling = thisLoad
  const config = await fetchConfig(configUrlOf(page)).catch(() => undefined)
  if (polling !== thisLoad) return
  if (config) {
    show(page, config)
    return
  }
  statusScreen = showStatusScreen(main, 'error', { onRetry: () => void load(text) })
  bridge?.sendError()
}

function clear(): void {
  clearTimeout(polling)
  polling = undefined
  watching?.abort()
  watching = undefined
  liveConfig = undefined
  currentStart = undefined
  if (player) player.destroy()
  else media?.destroy()
  player = undefined
  media = undefined
  statusScreen?.remove()
  statusScreen = undefined
}

applyStyles()
show(new URL(location.href), readConfig())
