import { type Cue, formatTime, newKey, parseTime } from './webvtt.ts'

/** How long a new cue is shown. */
const newCueMs = 2_000

type Times = { startMs: number | undefined; endMs: number | undefined }

/** A cue is never changed in place, so its times are read once. A long file has tens of thousands. */
const read = new WeakMap<Cue, Times>()

function timesOf(cue: Cue): Times {
  const known = read.get(cue)
  if (known) return known
  const times = { startMs: parseTime(cue.start), endMs: parseTime(cue.end) }
  read.set(cue, times)
  return times
}

const startOf = (cue: Cue) => timesOf(cue).startMs ?? 0
const endOf = (cue: Cue) => timesOf(cue).endMs ?? startOf(cue)

export const changeCue = (cues: Cue[], key: number, change: Partial<Cue>): Cue[] =>
  cues.map((cue) => (cue.key === key ? { ...cue, ...change } : cue))

const createCue = (key: number, startMs: number, endMs: number): Cue => ({
  key,
  id: '',
  start: formatTime(startMs),
  end: formatTime(endMs),
  settings: '',
  text: '',
  before: [],
})

/** Adds an empty cue at the position, before the first cue that starts later. */
export function addCue(cues: Cue[], atMs: number, key: number): Cue[] {
  const later = cues.findIndex((cue) => startOf(cue) > atMs)
  const at = later < 0 ? cues.length : later
  const next = cues[at]
  const endMs = next ? Math.min(atMs + newCueMs, startOf(next)) : atMs + newCueMs
  return cues.toSpliced(at, 0, createCue(key, atMs, Math.max(endMs, atMs + 100)))
}

/** The comments before a cue stay in the file. */
export function removeCue(cues: Cue[], key: number): Cue[] {
  const at = cues.findIndex((cue) => cue.key === key)
  const [removed, next] = [cues[at], cues[at + 1]]
  if (!removed) return cues
  const rest = cues.toSpliced(at, 1)
  return next ? changeCue(rest, next.key, { before: [...removed.before, ...next.before] }) : rest
}

/** At the time if it is within the cue, else in the middle; and at the caret if it is within the text. */
export function splitCue(cues: Cue[], key: number, atMs: number, caret: number): Cue[] {
  const at = cues.findIndex((cue) => cue.key === key)
  const cue = cues[at]
  if (!cue) return cues
  const [startMs, endMs] = [startOf(cue), endOf(cue)]
  const middleMs = atMs > startMs && atMs < endMs ? atMs : (startMs + endMs) / 2
  const [first, second] = splitText(cue.text, caret)
  const left = { ...cue, end: formatTime(middleMs), text: first }
  const right = { ...createCue(newKey(), middleMs, endMs), settings: cue.settings, text: second }
  return cues.toSpliced(at, 1, left, right)
}

function splitText(text: string, caret: number): [string, string] {
  const middle = text.length / 2
  const gaps = [...text.matchAll(/\n/g), ...(text.includes('\n') ? [] : text.matchAll(/ /g))]
  const nearest = gaps.map(({ index }) => index).sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle))
  const at = caret > 0 && caret < text.length ? caret : (nearest[0] ?? text.length)
  return [text.slice(0, at).trim(), text.slice(at).trim()]
}

/** Joins a cue with the next one. */
export function mergeCue(cues: Cue[], key: number): Cue[] {
  const at = cues.findIndex((cue) => cue.key === key)
  const [cue, next] = [cues[at], cues[at + 1]]
  if (!cue || !next) return cues
  const merged = {
    ...cue,
    end: formatTime(Math.max(endOf(cue), endOf(next))),
    text: [cue.text, next.text].filter(Boolean).join('\n'),
    before: [...cue.before, ...next.before],
  }
  return cues.toSpliced(at, 2, merged)
}

export const sortCues = (cues: Cue[]) => cues.toSorted((a, b) => startOf(a) - startOf(b))

export type CueProblem = 'start' | 'end' | 'order' | 'text' | 'arrow'
export type CueWarning = 'unsorted' | 'late'

/** What has to be corrected before the file can be saved. */
export function problemOf(cue: Cue): CueProblem | undefined {
  const { startMs, endMs } = timesOf(cue)
  if (startMs === undefined) return 'start'
  if (endMs === undefined) return 'end'
  if (endMs <= startMs) return 'order'
  if (cue.text.trim() === '') return 'text'
  return cue.text.includes('-->') ? 'arrow' : undefined
}

/** What is allowed, but probably a mistake. */
export function warningOf(cue: Cue, previous: Cue | undefined, durationMs: number): CueWarning | undefined {
  const { startMs } = timesOf(cue)
  if (startMs === undefined) return undefined
  if (previous && startMs < startOf(previous)) return 'unsorted'
  return durationMs > 0 && startMs >= durationMs ? 'late' : undefined
}

/** The cue that is shown at the time: the last one that has started and has not ended. */
export function cueAt(cues: Cue[], timeMs: number): Cue | undefined {
  return cues.findLast((cue) => {
    const { startMs, endMs } = timesOf(cue)
    return startMs !== undefined && endMs !== undefined && startMs <= timeMs && timeMs < endMs
  })
}
