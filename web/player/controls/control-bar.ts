import { element } from '../element.ts'
import type { PlayerConfig } from '../player-config.ts'
import { icon } from '../status-screen.ts'

export const playIcon = 'M7 4.2v15.6c0 .9.9 1.4 1.7 1l12-7.8a1.2 1.2 0 0 0 0-2l-12-7.8c-.8-.5-1.7 0-1.7 1z'
export const replayIcon = 'M12 4.2V1L7.2 5 12 9V5.8A7.2 7.2 0 1 1 4.8 13H3.2A8.8 8.8 0 1 0 12 4.2z'
const downloadIcon = 'M11 4h2v8.2l3-3 1.4 1.4L12 16l-5.4-5.4L8 9.2l3 3zM5 18h14v2H5z'
const gearIcon =
  'M19.4 13a7.5 7.5 0 0 0 0-2l2-1.6-2-3.4-2.4 1a7.5 7.5 0 0 0-1.7-1l-.4-2.5h-4l-.4 2.5a7.5 7.5 0 0 0-1.7 1l-2.4-1-2 3.4 2 1.6a7.5 7.5 0 0 0 0 2l-2 1.6 2 3.4 2.4-1a7.5 7.5 0 0 0 1.7 1l.4 2.5h4l.4-2.5a7.5 7.5 0 0 0 1.7-1l2.4 1 2-3.4zM12 15.5a3.5 3.5 0 1 1 0-7 3.5 3.5 0 0 1 0 7'

/** The buttons at the bottom. The menus of captions and chapters replace their slots later. */
export function buildControlBar(config: PlayerConfig): HTMLElement {
  return element(
    'media-control-bar',
    {},
    playButton(),
    seekButton('backward'),
    seekButton('forward'),
    element(
      'span',
      { class: 'volume', 'data-control': 'volume' },
      element('media-mute-button'),
      element('media-volume-range'),
    ),
    config.type === 'live'
      ? element('span', { class: 'live-slot' })
      : element('media-time-display', { showduration: '', notoggle: '', 'data-control': 'progressBar' }),
    element('span', { class: 'chapters-slot' }),
    element('span', { class: 'gap' }),
    element('span', { class: 'subtitles-slot' }),
    settingsButton(),
    config.mp4 ? downloadLink(config.mp4) : '',
    element('media-pip-button', { 'data-control': 'pictureInPicture' }),
    element('media-fullscreen-button', { 'data-control': 'fullscreen' }),
  )
}

function playButton(): HTMLElement {
  const [play, replay] = [icon(playIcon), icon(replayIcon)]
  for (const each of [play, replay]) each.setAttribute('slot', 'play')
  replay.classList.add('replay')
  const tooltip = element('span', { slot: 'tooltip-play' }, 'Play')
  return element('media-play-button', { class: 'play', 'data-control': 'play' }, play, replay, tooltip)
}

function seekButton(direction: 'backward' | 'forward'): HTMLElement {
  const arrow = icon(replayIcon)
  arrow.setAttribute('slot', 'icon')
  arrow.classList.add(direction)
  const number = document.createElementNS(arrow.namespaceURI, 'text')
  number.textContent = '10'
  number.setAttribute('x', '12')
  number.setAttribute('y', '16')
  arrow.append(number)
  const control = direction === 'backward' ? 'seekBackward' : 'seekForward'
  return element(`media-seek-${direction}-button`, { seekoffset: '10', 'data-control': control }, arrow)
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
