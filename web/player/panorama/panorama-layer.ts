// The layer over the video that contains the canvas of the 360° view.

const label =
  '360° video. Drag, or press the arrow keys while it has the focus, to look around. Plus and minus zoom, ' +
  'Home resets the view.'

export type Layer = { layer: HTMLElement; canvas: HTMLCanvasElement; destroy(): void }

/** Inserts the layer above the video and below the elements that follow it in the host. */
export function addLayer(video: HTMLVideoElement, host: HTMLElement): Layer {
  const layer = document.createElement('div')
  layer.className = 'panorama'
  const canvas = layer.appendChild(document.createElement('canvas'))
  canvas.tabIndex = 0
  // With other roles, screen readers use the arrow keys themselves.
  canvas.setAttribute('role', 'application')
  canvas.setAttribute('aria-label', label)
  const ring = addFocusRing(layer, canvas)

  // Not in the style sheet, which is also loaded for flat videos.
  const fill = { position: 'absolute', inset: '0', width: '100%', height: '100%' }
  Object.assign(layer.style, fill)
  Object.assign(canvas.style, fill, {
    display: 'block',
    outline: 'none',
    cursor: 'grab',
    touchAction: 'none',
  })
  Object.assign(ring.style, fill, {
    boxSizing: 'border-box',
    border: '3px solid #fff',
    // White or black: one of them is visible on any background.
    boxShadow: 'inset 0 0 0 3px #000',
    pointerEvents: 'none',
  })

  const isPositioned = getComputedStyle(host).position !== 'static'
  if (!isPositioned) host.style.position = 'relative'
  const below = childContaining(video, host)
  if (below) {
    // Custom elements position their children by slot.
    if (below.slot) layer.slot = below.slot
    below.after(layer)
  } else {
    host.prepend(layer)
  }
  return {
    layer,
    canvas,
    destroy() {
      layer.remove()
      if (!isPositioned) host.style.position = ''
    },
  }
}

/** Shows the keyboard focus of the canvas. An outline would be clipped. */
function addFocusRing(layer: HTMLElement, canvas: HTMLCanvasElement): HTMLElement {
  const ring = layer.appendChild(document.createElement('div'))
  ring.hidden = true
  canvas.addEventListener('focus', () => {
    ring.hidden = !canvas.matches(':focus-visible')
  })
  canvas.addEventListener('keydown', () => {
    ring.hidden = false
  })
  canvas.addEventListener('blur', () => {
    ring.hidden = true
  })
  return ring
}

/** The child of the host that is or contains the video. */
function childContaining(video: Element, host: Element): Element | undefined {
  for (let each: Element | null = video; each; each = each.parentElement) {
    if (each.parentElement === host) return each
  }
}
