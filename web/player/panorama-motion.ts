import { deviceRotation, type Rotation } from './panorama-view.ts'

// Looking around by moving the device. Many browsers know the event and have no sensor: then it never comes, or
// comes once without angles.

type Permission = { requestPermission?(): Promise<'granted' | 'denied'> }

/** Browsers that need not be asked tell how the device is held within much less. */
const patienceMs = 500

/**
 * Where the viewer has to be asked first, which is allowed at a click only, a button for it comes into the host;
 * `onAsked` when it is gone. Some browsers can be asked and need not be, and most screens nobody lifts.
 */
export function watchMotion(
  host: HTMLElement,
  onMove: (rotation: Rotation) => void,
  onAsked: () => void,
): { destroy(): void } {
  const over = new AbortController()
  const permission = (globalThis.DeviceOrientationEvent ?? {}) as Permission
  let button: HTMLButtonElement | undefined

  function listen() {
    // Anew, as what was listened for without a permission may stay without.
    window.removeEventListener('deviceorientation', move)
    if (!over.signal.aborted) window.addEventListener('deviceorientation', move, { signal: over.signal })
  }

  function move({ alpha, beta, gamma }: DeviceOrientationEvent) {
    if (beta === null || gamma === null) return
    clearTimeout(waiting)
    button?.remove()
    onMove(deviceRotation(alpha ?? 0, beta, gamma, screenDegrees()))
  }

  async function ask() {
    // Refused also inside of a page of another origin that does not allow it; to ask again is no use either.
    const answer = await permission.requestPermission?.().catch(() => 'denied')
    button?.remove()
    if (over.signal.aborted) return
    if (answer === 'granted') listen()
    onAsked()
  }

  function offer() {
    button = host.appendChild(makeButton())
    button.addEventListener('click', ask)
  }

  listen()
  const isHandheld = matchMedia('(any-pointer: coarse)').matches
  const waiting = permission.requestPermission && isHandheld ? setTimeout(offer, patienceMs) : undefined
  return {
    destroy() {
      over.abort()
      clearTimeout(waiting)
      button?.remove()
    },
  }
}

/** Older Safari knows the second name only. */
const screenDegrees = (): number =>
  screen.orientation?.angle ?? (window as { orientation?: number }).orientation ?? 0

function makeButton(): HTMLButtonElement {
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = 'Move the device to look around'
  Object.assign(button.style, {
    position: 'absolute',
    // Above the bar of controls.
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
    font: '16px/1.3 system-ui, sans-serif',
    cursor: 'pointer',
  })
  return button
}
