import 'media-chrome/dist/media-controller.js'
import 'media-chrome/dist/media-control-bar.js'
import 'media-chrome/dist/media-fullscreen-button.js'
import 'media-chrome/dist/media-mute-button.js'
import 'media-chrome/dist/media-pip-button.js'
import 'media-chrome/dist/media-play-button.js'
import 'media-chrome/dist/media-seek-backward-button.js'
import 'media-chrome/dist/media-seek-forward-button.js'
import 'media-chrome/dist/media-time-display.js'
import 'media-chrome/dist/media-time-range.js'
import 'media-chrome/dist/media-volume-range.js'
import 'media-chrome/dist/menu/media-playback-rate-menu.js'
import 'media-chrome/dist/menu/media-rendition-menu.js'
import 'media-chrome/dist/menu/media-settings-menu.js'
import 'media-chrome/dist/menu/media-settings-menu-button.js'
import 'media-chrome/dist/menu/media-settings-menu-item.js'
import { element } from '../element.ts'
import type { PlayerConfig } from '../player-config.ts'
import { icon } from '../status-screen.ts'
import { buildControlBar, playIcon, replayIcon } from './control-bar.ts'
import { type ControlName, controlNames } from './control-names.ts'
import { labelHeader } from './menu-header.ts'

const rates = '0.5 0.75 1 1.25 1.5 1.75 2'
const soundOffIcon =
  'M4 9v6h4l5 5V4L8 9zm16.3 1-1.3-1.3-2.3 2.3-2.3-2.3L13.1 10l2.3 2.3-2.3 2.3 1.3 1.3 2.3-2.3 2.3 2.3 1.3-1.3-2.3-2.3z'

type Logo = Pick<PlayerConfig['theme'], 'logo' | 'logoLink'>

export type Controls = {
  controller: HTMLElement
  /** The button that turns on the sound of a video that starts muted. */
  unmute: HTMLElement
  hide(names: readonly ControlName[]): void
  show(names: readonly ControlName[]): void
  has(name: ControlName): boolean
  hasAny(): boolean
  /** Hides all controls, and ignores clicks on the video. */
  setChromeless(isOn: boolean): void
  setTitleShown(isShown: boolean): void
  setLogo(logo: Logo): void
  setPoster(src: string): void
  setPosterShown(isShown: boolean): void
  setQualityCount(count: number): void
  /** Adds a menu and the button that opens it. The place of the button depends on its `data-control`. */
  addMenu(button: HTMLElement, menu: HTMLElement): void
  /** Adds a layer above the video. */
  addLayer(layer: HTMLElement): void
}

/** Builds the player around a video element. Text is set with textContent only, because titles are untrusted. */
export function buildControls(video: HTMLVideoElement, config: PlayerConfig): Controls {
  const isLive = config.type === 'live'
  const hidden = new Set<ControlName>()
  const poster = element('img', { slot: 'poster', class: 'poster', alt: '' })
  // Screen readers read the heading of the page, which stays if the title is hidden.
  const title = element('div', { class: 'title', 'aria-hidden': 'true' }, config.title)
  const unmute = element('button', { class: 'unmute', slot: 'top-chrome', noautohide: '', hidden: '' })
  unmute.append(icon(soundOffIcon), 'Unmute')
  const quality = menuItem('Quality', 'media-rendition-menu')
  const settings = element(
    'media-settings-menu',
    { hidden: '', anchor: 'auto', 'data-control': 'more' },
    // The speed of a live stream follows its latency.
    isLive ? '' : menuItem('Speed', 'media-playback-rate-menu', { rates, 'data-control': 'playbackRate' }),
  )
  labelHeader(settings, 'Settings')
  const controller = buildController({ video, poster, title, unmute, settings }, config)
  let isChromeless = false

  function apply() {
    for (const control of controller.querySelectorAll<HTMLElement>('[data-control]')) {
      const isHidden = hidden.has(control.dataset.control as ControlName)
      if (control !== settings) control.classList.toggle('off', isHidden)
    }
    controller.classList.toggle('bare', hidden.size === controlNames.length)
    // A click on the video is a control, too.
    const isIgnored = config.isPanoramic || isChromeless || hidden.has('play')
    controller.toggleAttribute('gesturesdisabled', isIgnored)
    controller.classList.toggle('chromeless', isChromeless)
  }
  apply()

  return {
    controller,
    unmute,
    hide(names) {
      for (const name of names) hidden.add(name)
      apply()
    },
    show(names) {
      for (const name of names) hidden.delete(name)
      apply()
    },
    has: (name) => !hidden.has(name),
    hasAny: () => hidden.size < controlNames.length,
    setChromeless(isOn) {
      isChromeless = isOn
      apply()
    },
    setTitleShown: (isShown) => title.classList.toggle('off', !isShown),
    setLogo(logo) {
      controller.querySelector('.logo-link, .logo')?.remove()
      title.after(buildLogo(logo))
    },
    setPoster: (src) => poster.setAttribute('src', src),
    setPosterShown: (isShown) => poster.classList.toggle('off', !isShown),
    setQualityCount(count) {
      if (count > 1) settings.append(quality)
      else quality.remove()
      controller.classList.toggle('without-settings', isLive && count <= 1)
    },
    addMenu(button, menu) {
      // The menu first, because the button looks for it.
      settings.after(menu)
      controller.querySelector(`.${button.dataset.control}-slot`)?.replaceWith(button)
      apply()
    },
    addLayer: (layer) => controller.append(layer),
  }
}

type Elements = Record<'video' | 'poster' | 'title' | 'unmute' | 'settings', HTMLElement>

function buildController(elements: Elements, config: PlayerConfig): HTMLElement {
  const { video, poster, title, unmute, settings } = elements
  const controller = element(
    'media-controller',
    {
      // The viewer's choices are stored by preferences.ts instead.
      novolumepref: '',
      nomutedpref: '',
      nosubtitleslangpref: '',
      keyboardupvolumestep: '0.1',
      keyboarddownvolumestep: '0.1',
      // keyboard.ts has a list of shortcuts that fits small frames.
      hotkeys: config.type === 'live' ? 'noshift+/ no< no>' : 'noshift+/',
    },
    video,
    poster,
    element('div', { class: 'top', slot: 'top-chrome' }, title, buildLogo(config.theme)),
    unmute,
    loadingIndicator(),
    bigButton(),
    settings,
    element('div', { class: 'bottom' }, timeline(), buildControlBar(config)),
  )
  return controller
}

function timeline(): HTMLElement {
  const range = element('media-time-range', { 'data-control': 'progressBar' })
  // The preview image has no text: the time above it says the same.
  const preview = range.shadowRoot?.querySelector('media-preview-thumbnail')
  preview?.shadowRoot?.querySelector('img')?.setAttribute('alt', '')
  return range
}

/**
 * Not that of media-chrome: one of its style rules makes the browser compute the styles of all controls again whenever
 * loading starts or ends, which delays a seek.
 */
function loadingIndicator(): HTMLElement {
  const text = element('span', { class: 'visually-hidden' }, 'Loading')
  return element('div', { class: 'loading', slot: 'centered-chrome', noautohide: '', role: 'status' }, text)
}

/** For the mouse and touch only. The keyboard and screen readers use the play button of the control bar. */
function bigButton(): HTMLElement {
  const replay = icon(replayIcon)
  replay.classList.add('replay')
  const button = element(
    'button',
    { class: 'big', slot: 'centered-chrome', tabindex: '-1', 'aria-hidden': 'true', 'data-control': 'play' },
    icon(playIcon),
    replay,
  )
  const play = () => button.dispatchEvent(new CustomEvent('mediaplayrequest', { bubbles: true }))
  button.addEventListener('click', play)
  // It never takes the focus, which would get lost when the button disappears.
  button.addEventListener('mousedown', (event) => event.preventDefault())
  return button
}

function menuItem(label: string, menu: string, attributes: Record<string, string> = {}): HTMLElement {
  const { 'data-control': control, ...rest } = attributes
  const submenu = element(
    menu,
    { slot: 'submenu', hidden: '', ...rest },
    element('div', { slot: 'title' }, label),
  )
  labelHeader(submenu, label)
  return element('media-settings-menu-item', control ? { 'data-control': control } : {}, label, submenu)
}

function buildLogo({ logo, logoLink }: Logo): HTMLElement | '' {
  if (!logo) return ''
  const image = element('img', { class: 'logo', src: logo, alt: logoLink ? 'Website' : '' })
  const link = safeUrl(logoLink)
  return link
    ? element(
        'a',
        { class: 'logo-link', href: link, target: '_blank', rel: 'noopener', keysused: 'Enter' },
        image,
      )
    : image
}

/** Accepts only http and https URLs, because a `javascript:` URL would run a script. */
function safeUrl(text: string | null): string | undefined {
  try {
    const url = new URL(text ?? '')
    return ['http:', 'https:'].includes(url.protocol) ? url.href : undefined
  } catch {
    return undefined
  }
}
