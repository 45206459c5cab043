import type { Stream } from '../stream/stream-type.ts'

type Target = {
  controller: HTMLElement
  video: HTMLVideoElement
  stream: Stream
  /** The range of positions. */
  range(): [start: number, end: number]
  seek(seconds: number): void
  signal: AbortSignal
}

/** The frame rate of a stream that does not tell it. */
const usualFrameRate = 30

/** Adds the shortcuts that media-chrome does not have, and makes all of them work without focus. */
export function startKeyboard({ controller, video, stream, range, seek, signal }: Target): void {
  const press = (event: KeyboardEvent) => {
    if (hasModifier(event) || event.defaultPrevented) return
    if (event.key === '?') {
      // If its code cannot be loaded, there is no list.
      showShortcuts().catch(() => {})
      return
    }
    // A slider moves with these keys by itself.
    const isSlider = (event.target as Element).localName.endsWith('-range')
    if (isSlider && ['Home', 'End'].includes(event.key)) return
    const seconds = secondsOf(event.key)
    if (seconds === undefined) return
    event.preventDefault()
    seek(seconds)
  }

  function secondsOf(key: string): number | undefined {
    const [start, end] = range()
    if (/^[0-9]$/.test(key)) return start + ((end - start) * Number(key)) / 10
    if (key === 'Home') return start
    if (key === 'End') return end
    if (!video.paused) return undefined
    if (key === ',') return frameBeside(-1)
    if (key === '.') return frameBeside(1)
  }

  /** The middle of the next frame, so that rounding never selects another one. */
  function frameBeside(step: 1 | -1): number {
    const rate = [...stream.qualities][0]?.frameRate || usualFrameRate
    return (Math.floor(video.currentTime * rate) + step + 0.5) / rate
  }

  controller.addEventListener('keydown', press, { signal })
  forwardKeys(controller, signal)
  signal.addEventListener('abort', closeShortcuts)
}

async function showShortcuts(): Promise<void> {
  const { openShortcuts } = await import('./shortcuts-dialog.ts')
  openShortcuts()
}

function closeShortcuts(): void {
  document.querySelector<HTMLDialogElement>('.shortcuts')?.close()
}

/** Forwards keys from the page, so that shortcuts work before an element of the player has the focus. */
function forwardKeys(controller: HTMLElement, signal: AbortSignal): void {
  for (const type of ['keydown', 'keyup'] as const) {
    const forward = (event: KeyboardEvent) => {
      if (event.target !== document.body || controller.inert || hasModifier(event)) return
      // Otherwise the key would also scroll the embedding page.
      if (!controller.dispatchEvent(new KeyboardEvent(type, event))) event.preventDefault()
    }
    document.addEventListener(type, forward, { signal })
  }
}

const hasModifier = ({ ctrlKey, altKey, metaKey }: KeyboardEvent) => ctrlKey || altKey || metaKey
