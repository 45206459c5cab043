/** Where a cue is shown. Numbers are percentages of the area for captions. */
export type Place = {
  left: number
  width: number
  align: 'start' | 'center' | 'end' | 'left' | 'right'
  /** 0: at the top; 100: at the bottom. */
  top: number
}

export type CueSettings = Pick<
  VTTCue,
  'line' | 'snapToLines' | 'position' | 'positionAlign' | 'size' | 'align'
>

/** Lines of text that fit above each other, as the WebVTT settings count them. */
const lineCount = 16

/** Reads the WebVTT settings of a cue. Vertical text is shown like horizontal text. */
export function placeOf(cue: CueSettings): Place {
  const { align } = cue
  const anchor = anchorOf(cue)
  const at = cue.position === 'auto' ? { start: 0, center: 50, end: 100 }[anchor] : clamp(cue.position)
  const available = { start: 100 - at, center: 2 * Math.min(at, 100 - at), end: at }[anchor]
  // A cue at the very edge would have no width.
  const width = Math.max(10, Math.min(clamp(cue.size), available))
  const left = { start: at, center: at - width / 2, end: at - width }[anchor]
  return { left: Math.max(0, Math.min(left, 100 - width)), width, align, top: topOf(cue) }
}

function anchorOf({ positionAlign, align }: CueSettings): 'start' | 'center' | 'end' {
  if (positionAlign === 'line-left') return 'start'
  if (positionAlign === 'line-right') return 'end'
  if (positionAlign === 'center') return 'center'
  if (align === 'start' || align === 'left') return 'start'
  return align === 'end' || align === 'right' ? 'end' : 'center'
}

function topOf({ line, snapToLines }: CueSettings): number {
  if (line === 'auto') return 100
  if (!snapToLines) return clamp(line)
  // Negative numbers count from the last line.
  const index = line < 0 ? lineCount + line : line
  return clamp((index * 100) / (lineCount - 1))
}

const clamp = (percent: number) => (Number.isFinite(percent) ? Math.min(100, Math.max(0, percent)) : 100)
