import { Turns } from '../lib/turns.ts'

/** Times are in milliseconds. `text` and `settings` are safe to write into a WebVTT file. */
export type Cue = { startMs: number; endMs: number; text: string; settings: string }

export const isWebVtt = (text: string) => /^WEBVTT(?:[ \t\r\n]|$)/.test(text)

export function* linesOf(text: string): Generator<string> {
  const plain = text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text
  let from = 0
  for (let to = plain.indexOf('\n'); to >= 0; to = plain.indexOf('\n', from)) {
    yield plain.slice(from, to)
    from = to + 1
  }
  yield plain.slice(from)
}

/**
 * No line of WebVTT and no caption of SRT with markup is longer. Reading markup takes far longer than reading text, and is
 * done in one turn.
 */
export const maxMarkupLength = 10_000

export type Timing = Omit<Cue, 'text'>

const timestamp = String.raw`(?:(\d{1,9}):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})`
const timingPattern = new RegExp(String.raw`^[ \t]*${timestamp}[ \t]*-->[ \t]*${timestamp}(?:[ \t]+(.*))?$`)
/** No valid settings are longer. */
const maxSettingsLength = 200

/** The line with the times of a cue. Also in the spelling of SRT, with a comma, which some WebVTT files have. */
export function readTiming(line: string): Timing | undefined {
  if (!line.includes('-->')) return undefined
  const found = timingPattern.exec(line)
  if (!found) return undefined
  const [, h1, m1, s1, f1, h2, m2, s2, f2, settings = ''] = found
  return {
    startMs: milliseconds(h1, m1, s1, f1),
    endMs: milliseconds(h2, m2, s2, f2),
    settings: settings && cleanSettings(settings.slice(0, maxSettingsLength)),
  }
}

const milliseconds = (hours = '0', minutes = '', seconds = '', fraction = '') =>
  ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000 + Number(fraction.padEnd(3, '0'))

const number = String.raw`\d{1,5}(?:\.\d{1,9})?`
const settingPattern = new RegExp(
  [
    'vertical:(?:rl|lr)',
    `line:-?${number}%?(?:,(?:start|center|end))?`,
    `position:${number}%(?:,(?:line-left|center|line-right))?`,
    `size:${number}%`,
    'align:(?:start|center|end|left|right)',
  ]
    .map((each) => `^${each}$`)
    .join('|'),
)

/** Without regions, as the files that we write have none. */
const cleanSettings = (settings: string) =>
  settings
    .split(/[ \t]+/)
    .filter((each) => settingPattern.test(each))
    .join(' ')

/** A tag, or a less-than sign that begins none. It goes on to the next less-than sign at most, so this is linear. */
const markup = /<(?:[^<>]*>)?/g
const definedTag =
  /^<(?:\/?(?:c|i|b|u|ruby|rt|v|lang)(?:\.[^\s.<>&]+)*(?:[ \t][^<>]*)?|(?:\d{2,9}:)?\d\d:\d\d\.\d{3})>$/

/** Keeps the tags that WebVTT defines. Other tags are left out, as in browsers, and what is no tag is text. */
function cleanMarkup(line: string): string {
  if (!line.includes('<')) return line
  if (line.length > maxMarkupLength) return line.replaceAll('<', '&lt;')
  return line.replaceAll(markup, (tag) => {
    if (definedTag.test(tag)) return tag
    if (/^<\/?[BIU]>$/.test(tag)) return tag.toLowerCase()
    return /^<\/?[a-z][^>]*>$/i.test(tag) ? '' : tag.replace('<', '&lt;')
  })
}

/** A line of the text of a cue. Where something is left out, the rest must not become an arrow, which starts a cue. */
const cleanLine = (line: string) => cleanMarkup(line).replaceAll('-->', '--&gt;')

const withoutControls = (line: string) => line.replaceAll(/(?!\t)\p{Cc}/gu, '')

const styleLine = /^STYLE[ \t]*$/

/**
 * A file without what can load something from elsewhere: style sheets, and in the texts markup that WebVTT does not
 * define, which some players take for HTML. Unchanged if it has none. A file of megabytes is read in several turns of the
 * event loop.
 */
export async function withoutExternalContent(content: string): Promise<string> {
  // Most files have neither.
  if (!content.includes('<') && !content.includes('STYLE')) return content
  const turns = new Turns()
  let block: 'cue' | 'style' | undefined
  let isChanged = false
  const lines: string[] = []
  for (const line of linesOf(content)) {
    if (turns.isOver()) await turns.next()
    // As in browsers: an empty line ends a block, and a line with an arrow starts a cue.
    if (line === '') block = undefined
    const isTiming = line.includes('-->')
    if (isTiming) block = 'cue'
    else if (block === undefined && styleLine.test(line)) block = 'style'
    const kept = block === 'cue' && !isTiming ? cleanLine(line) : line
    isChanged ||= block === 'style' || kept !== line
    // A line of which nothing is left would end the cue.
    if (block !== 'style' && (kept !== '' || line === '')) lines.push(kept)
  }
  return isChanged ? lines.join('\n') : content
}

/**
 * The cues of a WebVTT file that can be shown, in the order of their start. As in browsers, a line with an arrow starts a
 * cue, and an empty line ends it. Cues that are malformed or end before they start are left out. A file of megabytes is
 * read in several turns of the event loop.
 */
export async function parseCues(content: string): Promise<Cue[]> {
  const turns = new Turns()
  const cues: Cue[] = []
  let timing: Timing | undefined
  let lines: string[] = []
  const endCue = () => {
    if (!timing) return
    const text = lines.join('\n')
    if (timing.endMs > timing.startMs && text.trim() !== '') cues.push({ ...timing, text })
    timing = undefined
    lines = []
  }
  for (const line of linesOf(content)) {
    if (turns.isOver()) await turns.next()
    const isTiming = line.includes('-->')
    if (isTiming || line === '') endCue()
    if (isTiming) timing = readTiming(line)
    else if (timing) {
      const text = cleanLine(withoutControls(line))
      if (/[^ \t]/.test(text)) lines.push(text)
    }
  }
  endCue()
  return cues.sort((a, b) => a.startMs - b.startMs)
}

/** `01:02:03.456` */
export function formatTimestamp(ms: number): string {
  const part = (unit: number, size: number, digits = 2) =>
    String(Math.floor(ms / unit) % size).padStart(digits, '0')
  const hours = String(Math.floor(ms / 3_600_000)).padStart(2, '0')
  return `${hours}:${part(60_000, 60)}:${part(1_000, 60)}.${part(1, 1_000, 3)}`
}

const formatCue = ({ startMs, endMs, settings, text }: Cue) =>
  `${formatTimestamp(startMs)} --> ${formatTimestamp(endMs)}${settings && ` ${settings}`}\n${text}\n\n`

/** A WebVTT file. It ends with an empty line, because some readers of HLS join the segments, such as older ffmpeg. */
export const formatWebVtt = (cues: Cue[], header: string[] = []) =>
  `${['WEBVTT', ...header].join('\n')}\n\n${cues.map(formatCue).join('')}`
