import { Turns } from '../lib/turns.ts'
import { type Cue, formatWebVtt, linesOf, maxMarkupLength, readTiming, type Timing } from './webvtt.ts'

/**
 * Converts SRT, and WebVTT files without a valid header. Undefined if there is no cue. The text of a cue goes on until the
 * next cue, since it may contain empty lines. A file of megabytes is read in several turns of the event loop.
 */
export async function srtToWebVtt(srt: string): Promise<string | undefined> {
  const turns = new Turns()
  const cues: Cue[] = []
  let timing: Timing | undefined
  let lines: string[] = []
  const endCue = () => {
    if (timing) cues.push(makeCue(timing, lines))
    lines = []
  }
  for (const line of linesOf(srt)) {
    if (turns.isOver()) await turns.next()
    const next = readTiming(line)
    if (!next) {
      if (timing) lines.push(line)
      continue
    }
    // The number of the next cue.
    if (/^\s*\d+\s*$/.test(lines.at(-1) ?? '')) lines.pop()
    endCue()
    timing = next
  }
  endCue()
  return cues.length > 0 ? formatWebVtt(cues) : undefined
}

function makeCue({ startMs, endMs, settings }: Timing, lines: string[]): Cue {
  const text = lines.filter((line) => line.trim() !== '').join('\n')
  // {\an7} to {\an9} place the text at the top.
  const isAtTop = /\{\\an[789]\}/.test(text)
  return { startMs, endMs, text: convertText(text), settings: settings || (isAtTop ? 'line:0' : '') }
}

/** SRT has the tags b, i and u, colors that are left out, and positions in braces. Everything else is text. */
function convertText(text: string): string {
  if (text.length > maxMarkupLength)
    return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('-->', '--&gt;')
  return text
    .replaceAll(/\{\\[^{}\n]*\}/g, '')
    .replaceAll(/&(?!(?:amp|lt|gt|nbsp|lrm|rlm);)/g, '&amp;')
    .replaceAll(/<\/?font\b[^<>]*>/gi, '')
    .replaceAll(/<\/?[BIU]>/g, (tag) => tag.toLowerCase())
    .replaceAll(/<(?!\/?[biu]>)/g, '&lt;')
    .replaceAll('-->', '--&gt;')
}
