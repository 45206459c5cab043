import 'media-chrome/dist/media-controller.js'
import 'media-chrome/dist/media-control-bar.js'
import 'media-chrome/dist/media-fullscreen-button.js'
import 'media-chrome/dist/media-loading-indicator.js'
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
import { type ControlName, controlNames } from './control-names.ts'
import { element } from './element.ts'
import type { PlayerConfig } from './player-config.ts'
import { icon } from './status-screen.ts'

const rates = '0.5 0.75 1 1.25 1.5 1.75 2'
const downloadIcon = 'M11 4h2v8.2l3-3 1.4 1.4L12 16l-5.4-5.4L8 9.2l3 3zM5 18h14v2H5z'
const gearIcon =
  'M19.4 13a7.5 7.5 0 0 0 0-2l2-1.6-2-3.4-2.4 1a7.5 7.5 0 0 0-1.7-1l-.4-2.5h-4l-.4 2.5a7.5 7.5 0 0 0-1.7 1l-2.4-1-2 3.4 2 1.6a7.5 7.5 0 0 0 0 2l-2 1.6 2 3.4 2.4-1a7.5 7.5 0 0 0 1.7 1l.4 2.5h4l.4-2.5a7.5 7.5 0 0 0 1.7-1l2.4 1 2-3.4zM12 15.5a3.5 3.5 0 1 1 0-7 3.5 3.5 0 0 1 0 7'
const soundOffIcon =
  'M4 9v6h4l5 5V4L8 9zm16.3 1-1.3-1.3-2.3 2.3-2.3-2.3L13.1 10l2.3 2.3-2.3 2.3 1.3 1.3 2.3-2.3 2.3 2.3 1.3-1.3-2.3-2.3z'

export type Controls = {
  controller: HTMLElement
  /** The button that turns on the sound of a video that starts muted. */
  unmute: HTMLElement
  hide(names: readonly ControlName[]): void
  show(names: readonly ControlName[]): void
  hasAny(): boolean
  setTitleShown(isShown: boolean): void
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
  const hidden = new Set<ControlName>()
  const poster = element('img', { slot: 'poster', class: 'poster', alt: '' })
  const title = element('h1', { class: 'title' }, config.title)
  const unmute = element('button', { class: 'unmute', slot: 'top-chrome', noautohide: '', hidden: '' })
  unmute.append(icon(soundOffIcon), 'Unmute')
  const quality = menuItem('Quality', 'media-rendition-menu')
  const settings = element(
    'media-settings-menu',
    { hidden: '', anchor: 'auto', 'data-control': 'more' },
    menuItem('Speed', 'media-playback-rate-menu', { rates, 'data-control': 'playbackRate' }),
  )
  const controller = buildController({ video, poster, title, unmute, settings }, config)

  function apply() {
    for (const control of controller.querySelectorAll<HTMLElement>('[data-control]')) {
      const isHidden = hidden.has(control.dataset.control as ControlName)
      if (control !== settings) control.classList.toggle('off', isHidden)
    }
    controller.classList.toggle('bare', hidden.size === controlNames.length)
    // A click on the video is a control, too.
    controller.toggleAttribute('gesturesdisabled', config.isPanoramic || hidden.has('play'))
  }

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
    hasAny: () => hidden.size < controlNames.length,
    setTitleShown: (isShown) => title.classList.toggle('off', !isShown),
    setPoster: (src) => poster.setAttribute('src', src),
    setPosterShown: (isShown) => poster.classList.toggle('off', !isShown),
    setQualityCount(count) {
      if (count > 1) settings.append(quality)
      else quality.remove()
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
    // media-chrome does not store preferences on the viewer's device.
    {
      novolumepref: '',
      nomutedpref: '',
      nosubtitleslangpref: '',
      keyboardupvolumestep: '0.1',
      keyboarddownvolumestep: '0.1',
    },
    video,
    poster,
    element('div', { class: 'top', slot: 'top-chrome' }, title, buildLogo(config)),
    unmute,
    element('media-loading-indicator', { slot: 'centered-chrome', noautohide: '' }),
    element('media-play-button', {
      class: 'big',
      slot: 'centered-chrome',
      notooltip: '',
      'data-control': 'play',
    }),
    settings,
    element(
      'div',
      { class: 'bottom' },
      element('media-time-range', { 'data-control': 'progressBar' }),
      buildControlBar(config),
    ),
  )
  controller.toggleAttribute('gesturesdisabled', config.isPanoramic)
  return controller
}

function buildControlBar(config: PlayerConfig): HTMLElement {
  return element(
    'media-control-bar',
    {},
    element('media-play-button', { class: 'play', 'data-control': 'play' }),
    element('media-seek-backward-button', { seekoffset: '10', 'data-control': 'seekBackward' }),
    element('media-seek-forward-button', { seekoffset: '10', 'data-control': 'seekForward' }),
    element(
      'span',
      { class: 'volume', 'data-control': 'volume' },
      element('media-mute-button'),
      element('media-volume-range'),
    ),
    element('media-time-display', { showduration: '', notoggle: '', 'data-control': 'progressBar' }),
    element('span', { class: 'chapters-slot' }),
    element('span', { class: 'gap' }),
    element('span', { class: 'subtitles-slot' }),
    settingsButton(),
    config.mp4 ? downloadLink(config.mp4) : '',
    element('media-pip-button', { 'data-control': 'pictureInPicture' }),
    element('media-fullscreen-button', { 'data-control': 'fullscreen' }),
  )
}

function menuItem(label: string, menu: string, attributes: Record<string, string> = {}): HTMLElement {
  const { 'data-control': control, ...rest } = attributes
  const submenu = element(
    menu,
    { slot: 'submenu', hidden: '', ...rest },
    element('div', { slot: 'title' }, label),
  )
  return element('media-settings-menu-item', control ? { 'data-control': control } : {}, label, submenu)
}

function settingsButton(): HTMLElement {
  const gear = icon(gearIcon)
  gear.setAttribute('slot', 'icon')
  return element('media-settings-menu-button', { 'data-control': 'more' }, gear)
}

function downloadLink(mp4: string): HTMLElement {
  const url = new URL(mp4, location.href)
  url.searchParams.set('dl', '1')
  const link = element('a', {
    class: 'button',
    href: url.href,
    download: '',
    title: 'Download',
    'aria-label': 'Download',
    // Without this attribute, the key would also start or pause the video.
    keysused: 'Enter',
    'data-control': 'download',
  })
  link.append(icon(downloadIcon))
  return link
}

function buildLogo({ theme }: PlayerConfig): HTMLElement | '' {
  if (!theme.logo) return ''
  const image = element('img', { class: 'logo', src: theme.logo, alt: theme.logoLink ? 'Website' : '' })
  const link = safeUrl(theme.logoLink)
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
