import type { PlayerConfig } from './player-config.ts'

export type Status = Exclude<PlayerConfig['state'], 'ready' | 'live' | 'away'> | 'error'

const messages: Record<Status, { title: string; text: string }> = {
  processing: {
    title: 'This video is being prepared',
    text: 'It will start here as soon as it can be played.',
  },
  empty: {
    title: 'Nothing has been uploaded yet',
    text: 'The video will start here as soon as it is uploaded and can be played.',
  },
  waiting: {
    title: 'The stream has not started yet',
    text: 'It will start here automatically.',
  },
  ended: {
    title: 'The stream has ended',
    text: 'When it goes live again, it will start here automatically.',
  },
  private: {
    title: 'This video is private',
    text: 'The link is invalid, has expired or was already used.',
  },
  missing: { title: 'This video is not available', text: 'It may have been deleted, or the link is wrong.' },
  failed: { title: 'This video cannot be played', text: 'Something went wrong while it was being prepared.' },
  error: {
    title: 'The video cannot be played right now',
    text: 'Something went wrong while it was loading.',
  },
}

const icons: Record<Exclude<Status, 'processing'>, string> = {
  waiting:
    'M12 2a10 10 0 1 1 0 20 10 10 0 0 1 0-20m0 2a8 8 0 1 0 0 16 8 8 0 0 0 0-16m1 3v4.600l3.200 3.200-1.400 1.400L11 12.400V7z',
  ended: 'M12 2a10 10 0 1 1 0 20 10 10 0 0 1 0-20m0 2a8 8 0 1 0 0 16 8 8 0 0 0 0-16M9 9h6v6H9z',
  empty: 'M11 16V7.8L8.400 10.400 7 9l5-5 5 5-1.400 1.400L13 7.800V16zM4 18h16v2H4z',
  private:
    'M7 10V7a5 5 0 0 1 10 0v3h1a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1H6a1 1 0 0 1-1-1v-9a1 1 0 0 1 1-1zm2 0h6V7a3 3 0 0 0-6 0z',
  missing: 'M3.3 2 2 3.3l2 2V19a1 1 0 0 0 1 1h13.7l2 2 1.3-1.3zM8.2 4 20 15.8V5a1 1 0 0 0-1-1z',
  failed: 'M12 2a10 10 0 1 1 0 20 10 10 0 0 1 0-20m-1.200 5v7h2.400V7zm0 8.600V18h2.400v-2.400z',
  error: 'M12 2a10 10 0 1 1 0 20 10 10 0 0 1 0-20m-1.200 5v7h2.400V7zm0 8.600V18h2.400v-2.400z',
}

export type StatusScreen = { remove(): void }

export type StatusOptions = {
  onRetry?: () => void
  /** What the viewer can watch instead. */
  link?: { href: string; text: string }
  isLive?: boolean
  /** The name of what the message is about. */
  name?: string
  /** Shown behind the message. */
  poster?: string | null
}

/** Shows a message instead of the video. */
export function showStatusScreen(
  host: HTMLElement,
  status: Status,
  { onRetry, link, isLive, name, poster }: StatusOptions = {},
): StatusScreen {
  const { title, text } = messages[status]
  const screen = document.createElement('div')
  screen.className = 'status-screen'
  screen.dataset.status = status
  // Screen readers announce it after finishing their current sentence.
  screen.setAttribute('role', 'status')
  if (poster) {
    const image = element('img', '')
    image.setAttribute('src', poster)
    image.setAttribute('alt', '')
    screen.append(image)
  }
  screen.append(status === 'processing' ? spinner() : icon(icons[status]))
  if (name) {
    const text = element('p', name)
    text.className = 'name'
    screen.append(text)
  }
  screen.append(element('h1', isLive ? title.replace('video', 'live stream') : title), element('p', text))
  if (link) {
    const anchor = element('a', link.text)
    anchor.setAttribute('href', link.href)
    screen.append(anchor)
  }
  if (onRetry) {
    const button = element('button', 'Try again')
    button.addEventListener('click', onRetry)
    screen.append(button)
  }
  host.append(screen)
  return { remove: () => screen.remove() }
}

function spinner(): HTMLElement {
  const spinner = element('div', '')
  spinner.className = 'spinner'
  return spinner
}

export function icon(path: string): SVGElement {
  const namespace = 'http://www.w3.org/2000/svg'
  const svg = document.createElementNS(namespace, 'svg')
  svg.setAttribute('viewBox', '0 0 24 24')
  svg.setAttribute('aria-hidden', 'true')
  const shape = svg.appendChild(document.createElementNS(namespace, 'path'))
  shape.setAttribute('d', path)
  return svg
}

function element(name: string, text: string): HTMLElement {
  const made = document.createElement(name)
  made.textContent = text
  return made
}
