// What the 360° view adds to the page: a layer over the video that holds the canvas and what belongs to it.

const label =
  '360° video. Drag, or press the arrow keys while this has the focus, to look around. Plus and minus zoom, ' +
  'Home looks ahead again.'

export type Layer = { layer: HTMLElement; canvas: HTMLCanvasElement; destroy(): void }

/** Above the video and below what comes after it in the host. */
export function addLayer(video: HTMLVideoElement, host: HTMLElement): Layer {
  const layer = document.createElement('div')
  layer.className = 'panorama'
  const canvas = layer.appendChild(document.createElement('canvas'))
  canvas.tabIndex = 0
  // Screen readers keep the arrow keys to themselves with anything less.
  canvas.setAttribute('role', 'application')
  canvas.setAttribute('aria-label', label)
  const ring = addRing(layer, canvas)

  // Not in the style sheet, which those load too who watch a flat video.
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
    // White or black, one of both is seen on any picture.
    boxShadow: 'inset 0 0 0 3px #000',
    pointerEvents: 'none',
  })

  const isPlaced = getComputedStyle(host).position !== 'static'
  if (!isPlaced) host.style.position = 'relative'
  const below = childWith(video, host)
  if (below) {
    // The custom elements of players put their children on layers of their own by this name.
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
      if (!isPlaced) host.style.position = ''
    },
  }
}

/** Shows who walks through the page by keyboard that the canvas has the focus: an outline would be cut off. */
function addRing(layer: HTMLElement, canvas: HTMLCanvasElement): HTMLElement {
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

/** The child of the host that is the video or holds it. */
function childWith(video: Element, host: Element): Element | undefined {
  for (let each: Element | null = video; each; each = each.parentElement) {
    if (each.parentElement === host) return each
  }
}
