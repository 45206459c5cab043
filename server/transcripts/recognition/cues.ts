import { setImmediate } from 'node:timers/promises'
import type { Phrase } from '../tables.ts'
import { segmentWords } from '../words.ts'

/** A line that fits on every screen in a readable size, and the usual number of them. */
const maxLineWidth = 42
const maxLines = 2
const maxCueWidth = maxLineWidth * maxLines
const maxCueMs = 7_000
/** After a pause of this length, another cue begins. */
const pauseMs = 700
/** No cue is so short that nobody sees it. */
const minCueMs = 300

type Cue = Phrase

/** The speech of ten hours takes about a second. Other requests are handled between these numbers of phrases. */
const batchSize = 200

/** Makes a WebVTT file. Cues are in order and do not overlap. */
export async function makeWebVtt(phrases: Phrase[], language: string): Promise<string> {
  const blocks = ['WEBVTT\n']
  let endMs = 0
  for (let at = 0; at < phrases.length; at += batchSize) {
    for (const { fromMs, toMs, text } of makeCues(phrases.slice(at, at + batchSize), language, endMs)) {
      const lines = breakLines(text, language).map(escapeText)
      blocks.push(`${timestamp(fromMs)} --> ${timestamp(toMs)}\n${lines.join('\n')}\n`)
      endMs = toMs
    }
    await setImmediate()
  }
  return blocks.join('\n')
}

/** Joins short phrases, and divides long ones, into cues of a readable size. The first one begins at `startMs` or later. */
export function makeCues(phrases: Phrase[], language: string, startMs = 0): Cue[] {
  const cues: Cue[] = []
  let open: Cue | undefined
  const close = () => {
    if (open) cues.push({ ...open, text: open.text.trim() })
    open = undefined
  }
  for (const phrase of phrases) {
    for (const part of divide(phrase, language)) {
      if (open && !fits(open, part)) close()
      open = open ? { fromMs: open.fromMs, toMs: part.toMs, text: open.text + part.text } : part
    }
    // A phrase of several words is a unit of meaning. Single words are joined until a sentence ends.
    if (phrase.text.includes(' ') || /[.?!…。？！]["'”»)]?$/.test(phrase.text)) close()
  }
  close()
  return spread(cues, startMs)
}

const fits = (open: Cue, part: Cue) =>
  widthOf(open.text.trim() + part.text) <= maxCueWidth &&
  part.toMs - open.fromMs <= maxCueMs &&
  part.fromMs - open.toMs < pauseMs

/** The words of a phrase. Their times are estimated from their length. */
function divide({ fromMs, toMs, text }: Phrase, language: string): Phrase[] {
  const words = wordsOf(text, language)
  const length = words.reduce((sum, word) => sum + word.length, 0)
  let passed = 0
  const timeAt = (position: number) => Math.round(fromMs + ((toMs - fromMs) * position) / length)
  return words.map((word) => {
    const start = passed
    passed += word.length
    return { fromMs: timeAt(start), toMs: timeAt(passed), text: word }
  })
}

/** The words of a text, each with the space before it: where a line can be broken. */
function wordsOf(text: string, language: string): string[] {
  const separator = isWrittenWithoutSpaces(language) ? '' : ' '
  const words: string[] = []
  let word = separator
  for (const { segment, isWordLike } of segmentWords(text, language)) {
    const isSpace = segment.trim() === ''
    const beginsWord = isSpace || (separator === '' && isWordLike === true)
    if (beginsWord && word.trim() !== '') {
      words.push(word)
      word = ''
    }
    if (!isSpace || word === '') word += segment
  }
  return [...words, word].filter((each) => each.trim() !== '').flatMap(fitLine)
}

const isWrittenWithoutSpaces = (language: string) => /^(zh|ja)\b/.test(language)

const wide = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]/g

const widthOf = (text: string) => text.length + (text.match(wide)?.length ?? 0)

/** Divides a word that is too long for a line. */
function fitLine(word: string): string[] {
  const parts: string[] = []
  let part = ''
  let width = 0
  for (const char of word) {
    const charWidth = widthOf(char)
    if (width + charWidth > maxLineWidth) {
      parts.push(part)
      part = ''
      width = 0
    }
    part += char
    width += charWidth
  }
  return [...parts, part]
}

/** Cues begin at the end of the one before at the earliest, so that a player shows one at a time. */
function spread(cues: Cue[], startMs: number): Cue[] {
  let end = startMs
  return cues.map(({ fromMs, toMs, text }) => {
    const start = Math.max(fromMs, end)
    end = Math.max(toMs, start + minCueMs)
    return { fromMs: start, toMs: end, text }
  })
}

/** Breaks a cue into lines of about the same width. */
function breakLines(text: string, language: string): string[] {
  if (widthOf(text) <= maxLineWidth) return [text]
  const words = wordsOf(text, language)
  const splits = words.slice(1).map((_, i) => {
    const lines = [words.slice(0, i + 1), words.slice(i + 1)].map((part) => part.join('').trim())
    return { lines, width: Math.max(...lines.map(widthOf)) }
  })
  const best = splits.reduce((a, b) => (b.width < a.width ? b : a), splits[0]!)
  return best?.lines ?? [text]
}

const escapeText = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

function timestamp(ms: number): string {
  const digits = (value: number, length: number) => String(Math.floor(value)).padStart(length, '0')
  const hours = digits(ms / 3_600_000, 2)
  return `${hours}:${digits((ms / 60_000) % 60, 2)}:${digits((ms / 1_000) % 60, 2)}.${digits(ms % 1_000, 3)}`
}
