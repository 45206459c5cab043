/**
 * A cue as the editor shows it. Times are kept as they are typed, so that a mistake can be corrected. What the editor
 * does not show, such as comments, is kept in `before` and written back.
 */
export type Cue = {
  /** Identifies the cue while it is edited. */
  key: number
  id: string
  start: string
  end: string
  settings: string
  text: string
  before: string[]
}

export type CueFile = {
  /** From "WEBVTT" to the first empty line. */
  header: string
  cues: Cue[]
  /** What follows the last cue. */
  after: string[]
}

let nextKey = 1
export const newKey = () => nextKey++

export const emptyFile = (): CueFile => ({ header: 'WEBVTT', cues: [], after: [] })

/** Reads a WebVTT file by its blocks, which are separated by empty lines. */
export function parseWebVtt(content: string): CueFile {
  const text = content.replace(/^\uFEFF/, '').replaceAll(/\r\n?/g, '\n')
  const [header = 'WEBVTT', ...blocks] = text.split(/\n{2,}/).map((block) => block.replace(/^\n+|\n+$/g, ''))
  const cues: Cue[] = []
  let before: string[] = []
  for (const block of blocks) {
    if (block === '') continue
    const cue = parseCue(block)
    if (!cue) {
      before.push(block)
      continue
    }
    cues.push({ key: newKey(), before, ...cue })
    before = []
  }
  return { header, cues, after: before }
}

const timing = /^[ \t]*([\d:.,]+)[ \t]*-->[ \t]*([\d:.,]+)(?:[ \t]+(.*))?$/

/** Undefined for a comment, a style, a region or something malformed. */
function parseCue(block: string): Omit<Cue, 'key' | 'before'> | undefined {
  const lines = block.split('\n')
  const at = lines.findIndex((line) => line.includes('-->'))
  // At most one line before it: the identifier of the cue.
  const found = at === 0 || at === 1 ? timing.exec(lines[at]!) : null
  if (!found || lines.slice(at + 1).some((line) => line.includes('-->'))) return undefined
  const [, start = '', end = '', settings = ''] = found
  const [startMs, endMs] = [parseTime(start), parseTime(end)]
  if (startMs === undefined || endMs === undefined) return undefined
  return {
    id: at === 1 ? lines[0]! : '',
    start: formatTime(startMs),
    end: formatTime(endMs),
    settings,
    text: lines.slice(at + 1).join('\n'),
  }
}

/** An empty line would end the cue, so it is left out. */
export function writeWebVtt({ header, cues, after }: CueFile): string {
  const blocks = cues.flatMap(({ before, id, start, end, settings, text }) => {
    const times = [start, end].map((time) => formatTime(parseTime(time) ?? 0)).join(' --> ')
    const lines = text.split('\n').filter((line) => line.trim() !== '')
    const cue = [...(id ? [id] : []), settings ? `${times} ${settings}` : times, ...lines]
    return [...before, cue.join('\n')]
  })
  return `${[header, ...blocks, ...after].join('\n\n')}\n`
}

/** Reads `12`, `1:02.5` and `01:02:03.400`, in milliseconds. */
export function parseTime(text: string): number | undefined {
  const found = /^(?:(?:(\d{1,4}):)?(\d{1,2}):)?(\d{1,5})(?:[.,](\d{1,3}))?$/.exec(text.trim())
  if (!found) return undefined
  const [, hours = '0', minutes, seconds = '0', fraction = ''] = found
  if (minutes !== undefined && (Number(minutes) > 59 || Number(seconds) > 59)) return undefined
  const whole = (Number(hours) * 60 + Number(minutes ?? 0)) * 60 + Number(seconds)
  return whole * 1000 + Number(fraction.padEnd(3, '0'))
}

/** `01:02.400`, or `01:02:03.400` from one hour on. */
export function formatTime(ms: number): string {
  const whole = Math.max(0, Math.round(ms))
  const part = (unit: number, size: number, digits = 2) =>
    String(Math.floor(whole / unit) % size).padStart(digits, '0')
  const hours = Math.floor(whole / 3_600_000)
  const rest = `${part(60_000, 60)}:${part(1_000, 60)}.${part(1, 1_000, 3)}`
  return hours > 0 ? `${String(hours).padStart(2, '0')}:${rest}` : rest
}
