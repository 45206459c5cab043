import { deviceRotation, type Rotation } from './panorama-view.ts'

// Looking around by moving the device. Many browsers support the event on devices without a sensor. The event then
// never fires, or fires once without angles.

type Permission = { requestPermission?(): Promise<'granted' | 'denied'> }

/** Browsers that need no permission fire the first event within much less time. */
const promptDelayMs = 500

/**
 * Where the browser requires permission, which it grants only on a click, adds a button to the host. `onAsked` is called
 * when the button is gone. There is no button if events arrive without permission, or without a touch screen.
 */
export function watchMotion(
  host: HTMLElement,
  onMove: (rotation: Rotation) => void,
  onAsked: () => void,
): { destroy(): void } {
  const abort = new AbortController()
  const permission = (globalThis.DeviceOrientationEvent ?? {}) as Permission
  let button: HTMLButtonElement | undefined

  function listen() {
    // Registered again, because a listener from before the permission may never be called.
    window.removeEventListener('deviceorientation', move)
    if (!abort.signal.aborted) window.addEventListener('deviceorientation', move, { signal: abort.signal })
  }

  function move({ alpha, beta, gamma }: DeviceOrientationEvent) {
    if (beta === null || gamma === null) return
    clearTimeout(showTimer)
    button?.remove()
    onMove(deviceRotation(alpha ?? 0, beta, gamma, screenDegrees()))
  }

  async function ask() {
    // Also rejected in an iframe of another origin without that permission. Asking again would not help.
    const permitted = await permission.requestPermission?.().catch(() => 'denied')
    button?.remove()
    if (abort.signal.aborted) return
    if (permitted === 'granted') listen()
    onAsked()
  }

  function showButton() {
    button = host.appendChild(createButton())
    button.addEventListener('click', ask)
  }

  listen()
  const isHandheld = matchMedia('(any-pointer: coarse)').matches
  const showTimer =
    permission.requestPermission && isHandheld ? setTimeout(showButton, promptDelayMs) : undefined
  return {
    destroy() {
      abort.abort()
      clearTimeout(showTimer)
      button?.remove()
    },
  }
}

/** Older versions of Safari support only `window.orientation`. */
const screenDegrees = (): number =>
  screen.orientation?.angle ?? (window as { orientation?: number }).orientation ?? 0

function createButton(): HTMLButtonElement {
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = 'Move the device to look around'
  Object.assign(button.style, {
    position: 'absolute',
    // Above the control bar.
    bottom: '64px',
    left: '12px',
    right: '12px',
    width: 'fit-content',
    margin: '0 auto',
    minHeight: '44px',
    padding: '8px 16px',
    border: '1px solid #fff',
    borderRadius: '22px',
    background: 'rgb(0 0 0 / 75%)',
    color: '#fff',
    fontFamily: 'inherit',
    fontSize: '16px',
    lineHeight: '1.3',
    cursor: 'pointer',
  })
  return button
}
