import { type Bridge, openBridge } from './bridge.ts'
import { configUrlOf, fetchConfig, readConfig } from './config.ts'
import { firstFrame } from './first-frame.ts'
import { main } from './main-element.ts'
import { type Media, openMedia } from './media.ts'
import { type Options, readOptions, withTheme } from './options.ts'
import type { Player } from './player.ts'
import type { PlayerConfig } from './player-config.ts'
import { type StatusScreen, showStatusScreen } from './status-screen.ts'
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

/** Shows the video of a page URL, or a message if it cannot be played. */
function show(page: URL, config: PlayerConfig): void {
  clear()
  const options = withTheme(readOptions(page), config.theme)
  if (config.title) document.title = config.title
  if (!bridge && config.theme.enableApi && parent !== window && (options.api || options.sdkPlayerId)) {
    const { sdkPlayerId, sdkOrigin: origin } = options
    bridge = openBridge({ sdkPlayerId, origin }, { loadConfig: (url) => void load(url), destroy: clear })
  }
  if (config.state === 'ready') {
    void start(page, config, options)
    return
  }
  statusScreen = showStatusScreen(main, config.state)
  if (config.state === 'processing' || config.state === 'empty') pollLater(page, config, config.state)
  else bridge?.sendError()
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
  statusScreen = showStatusScreen(main, 'error', () => void load(text))
  bridge?.sendError()
}

function clear(): void {
  clearTimeout(polling)
  polling = undefined
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
