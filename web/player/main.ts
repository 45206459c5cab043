import './style.css'
import { type Bridge, openBridge } from './bridge.ts'
import { configOf, fetchConfig, type PlayerConfig, readConfig } from './config.ts'
import { firstPicture, type Media, openMedia } from './media.ts'
import { type Options, readOptions, withTheme } from './options.ts'
import type { Player } from './player.ts'
import { type Face, showFace } from './status-screen.ts'

/** How often the page asks whether there is something to play by now. */
const askMs = 2000

let started: symbol | undefined
let media: Media | undefined
let player: Player | undefined
let face: Face | undefined
let bridge: Bridge | undefined
let asking: ReturnType<typeof setTimeout> | undefined

/** Shows a video, or why there is none, as its page at this address would. */
function show(page: URL, config: PlayerConfig): void {
  clear()
  const options = withTheme(readOptions(page), config.theme)
  if (config.title) document.title = config.title
  if (!bridge && config.theme.enableApi && parent !== window && (options.api || options.sdkPlayerId)) {
    const { sdkPlayerId, sdkOrigin: origin } = options
    bridge = openBridge({ sdkPlayerId, origin }, { loadConfig: (url) => void load(url), destroy: clear })
  }
  if (config.state === 'ready') {
    void start(config, options)
    return
  }
  face = showFace(document.body, config.state)
  if (config.state === 'processing') asking = setTimeout(() => void askAgain(page, config), askMs)
  else bridge?.sendError()
}

/** The picture goes ahead, and the controls come when it is there. */
async function start(config: PlayerConfig, options: Options): Promise<void> {
  const mine = Symbol()
  started = mine
  // Who drives the player has to hear of all that happens.
  if (!bridge) media = openMedia(config, options)
  if (media && options.autoplay) {
    document.body.append(media.video)
    await firstPicture(media.video)
  }
  const { startPlayer } = await import('./player.ts')
  if (started !== mine) return
  media ??= openMedia(config, options)
  player = startPlayer(media, config, options, { onError: () => bridge?.sendError() })
  bridge?.connect(player)
}

async function askAgain(page: URL, config: PlayerConfig): Promise<void> {
  const mine = asking
  const next = await fetchConfig(new URL(config.self, location.origin)).catch(() => config)
  if (asking !== mine) return
  if (next.state === 'processing') asking = setTimeout(() => void askAgain(page, config), askMs)
  else show(page, next)
}

/** Another video in the same page, for the SDK. */
async function load(text: string): Promise<void> {
  const page = URL.canParse(text, location.href) ? new URL(text, location.href) : undefined
  if (page?.origin !== location.origin) return
  clear()
  const mine = setTimeout(() => {}, 0)
  asking = mine
  const config = await fetchConfig(configOf(page)).catch(() => undefined)
  if (asking !== mine) return
  if (config) {
    show(page, config)
    return
  }
  face = showFace(document.body, 'error', () => void load(text))
  bridge?.sendError()
}

function clear(): void {
  clearTimeout(asking)
  asking = undefined
  started = undefined
  if (player) player.destroy()
  else media?.destroy()
  player = undefined
  media = undefined
  face?.remove()
  face = undefined
}

show(new URL(location.href), readConfig())
