import { knowsPanorama, saveKnowsPanorama } from '../preferences.ts'

/** After this much playback, a viewer who does not drag has seen the hint. */
const maxSeconds = 10

/** Tells the viewer, until the first drag, that the view can be turned. The canvas describes itself to screen readers. */
export function showHint(video: HTMLVideoElement, layer: HTMLElement): { dismiss(): void } {
  if (knowsPanorama()) return { dismiss() {} }
  const hint = layer.appendChild(createHint())

  function dismiss() {
    if (!hint.isConnected) return
    hint.remove()
    video.removeEventListener('timeupdate', check)
    saveKnowsPanorama()
  }
  function check() {
    if (playedSeconds(video) > Math.min(maxSeconds, video.duration * 0.9)) dismiss()
  }
  video.addEventListener('timeupdate', check)
  return { dismiss }
}

function playedSeconds({ played }: HTMLVideoElement): number {
  let sum = 0
  for (let i = 0; i < played.length; i++) sum += played.end(i) - played.start(i)
  return sum
}

function createHint(): HTMLElement {
  const hint = document.createElement('div')
  hint.className = 'panorama-hint'
  hint.setAttribute('role', 'status')
  hint.textContent = '360° – drag to look around'
  Object.assign(hint.style, {
    position: 'absolute',
    top: '20%',
    left: '50%',
    padding: '8px 16px',
    borderRadius: '22px',
    background: 'rgb(0 0 0 / 75%)',
    color: '#fff',
    fontSize: '15px',
    // The container sets the line height to 0.
    lineHeight: '1.3',
    whiteSpace: 'nowrap',
    transform: 'translateX(-50%)',
    pointerEvents: 'none',
  })
  return hint
}
