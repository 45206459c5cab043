import { element } from '../element.ts'
import { hasRightToLeft } from '../languages.ts'
import { type Place, placeOf } from './cue-place.ts'
import { parseCue } from './cue-text.ts'

export type CaptionView = {
  host: HTMLElement
  /** Shows the active cues of this track from now on. */
  show(track: TextTrack | undefined, isRightToLeft: boolean): void
  /** After a change of the mode of the track. */
  redraw(): void
}

/** Nobody can read more at a time. A hostile file could have thousands of cues at the same second. */
const maxCues = 16
const maxCueLength = 2000

/**
 * Draws captions above the video. Not left to the browser, which would draw them below the canvas of a 360° video and,
 * in Firefox, behind the controls.
 */
export function createCaptionView(video: HTMLVideoElement): CaptionView {
  const host = element('div', { class: 'captions', slot: 'top-chrome', noautohide: '' })
  let shown: { track: TextTrack; isRightToLeft: boolean } | undefined

  function draw() {
    // The browser draws the cues of a track with the mode `showing` itself.
    const cues = shown?.track.mode === 'hidden' ? [...(shown.track.activeCues ?? [])] : []
    const boxes = new Map<string, HTMLElement>()
    for (const cue of cues.slice(0, maxCues)) {
      // For Chromium, a cue is still active at its end.
      if (!(cue instanceof VTTCue) || cue.endTime <= video.currentTime) continue
      const place = placeOf(cue)
      const key = JSON.stringify(place)
      // Cues at the same place are shown below each other.
      const box = boxes.get(key) ?? boxAt(place)
      boxes.set(key, box)
      box.append(lineOf(cue, shown?.isRightToLeft === true))
    }
    host.replaceChildren(...boxes.values())
  }

  return {
    host,
    show(track, isRightToLeft) {
      shown?.track.removeEventListener('cuechange', draw)
      shown = track && { track, isRightToLeft }
      track?.addEventListener('cuechange', draw)
      host.lang = track?.language ?? ''
      draw()
    },
    redraw: draw,
  }
}

function boxAt({ left, width, align, top }: Place): HTMLElement {
  const box = element('div', { class: 'cues' })
  const style = { left: `${left}%`, width: `${width}%`, textAlign: align, top: `${top}%` }
  // Moves the box up by the same fraction of its own height, so that it is never outside of the area.
  Object.assign(box.style, style, { transform: `translateY(-${top}%)` })
  return box
}

function lineOf({ text }: VTTCue, isRightToLeft: boolean): HTMLElement {
  const lines = text.slice(0, maxCueLength).split(/\r?\n/)
  const marked = lines.map((line) => (isRightToLeft ? markRightToLeft(line) : line))
  return element('div', {}, element('span', { class: 'cue' }, parseCue(marked.join('\n'))))
}

/** A line of Arabic may start with a Latin name. The mark makes it a right-to-left line nevertheless. */
const markRightToLeft = (line: string) => (hasRightToLeft(line) ? `\u200f${line}` : line)
