import { ServerError } from '../server-request.ts'
import type { Phrase } from '../tables.ts'

/** What was recognized in a piece of audio. Times are relative to its start. */
export type Recognized = {
  /** As reported: a name or a code. */
  language: string | undefined
  phrases: Phrase[]
}

/** The answer makes no sense. Another attempt may be answered better. */
const invalid = (message: string) => new ServerError(message, { isRetryable: true })

const unreadable = () => invalid('The speech recognition returned a response that cannot be read.')
const tooMuch = () => invalid('The speech recognition returned more text than anyone can say in that time.')

/** Fast speech has 25 characters per second, and 5 words. */
const maxCharactersPerSecond = 100
const maxSegmentsPerSecond = 20
/** Whisper works in windows of 30 seconds, and the last phrase may end with its window. */
const maxOverrunMs = 30_000

/** Any field may be missing or have any type. */
type Segment = Record<string, unknown>

/**
 * Reads a `verbose_json` answer. Most servers send segments, some only words. An answer without any times is useless,
 * unless nothing was said.
 */
export function readServerAnswer(json: string, durationMs: number): Recognized {
  const answer = parseObject(json)
  // Some servers report an error with the status 200.
  if ([answer.text, answer.segments, answer.words].every((field) => field === undefined)) throw unreadable()
  const segments = listOf(answer.segments, durationMs)
  const words = segments.length > 0 ? [] : listOf(answer.words, durationMs)
  const hasText = typeof answer.text === 'string' && cleanText(answer.text) !== ''
  if (hasText && segments.length === 0 && words.length === 0)
    throw new ServerError(
      'The speech recognition server returned text without times: it needs a model that supports verbose_json.',
      { isRetryable: false },
    )
  const timed = [
    ...segments.filter((segment) => !isNoise(segment)),
    ...words.map((word): Segment => ({ ...word, text: word.word ?? word.text })),
  ]
  const unitMs = unitOf(timed, durationMs)
  const phrases = timed.map(({ start, end, text }) => ({
    fromMs: milliseconds(start, unitMs),
    toMs: milliseconds(end, unitMs),
    text,
  }))
  return { language: readLanguage(answer.language), phrases: checkPhrases(phrases, durationMs) }
}

/** Reads the JSON file of whisper-cli. */
export function readWhisperFile(json: string, durationMs: number): Recognized {
  const answer = parseObject(json)
  if (!Array.isArray(answer.transcription)) throw unreadable()
  const phrases = listOf(answer.transcription, durationMs).map(({ offsets, text }) => {
    const { from, to } = (offsets ?? {}) as Record<string, unknown>
    return { fromMs: milliseconds(from, 1), toMs: milliseconds(to, 1), text }
  })
  const { language } = (answer.result ?? {}) as Record<string, unknown>
  return { language: readLanguage(language), phrases: checkPhrases(phrases, durationMs) }
}

function parseObject(json: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(json)
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>
  } catch {}
  throw unreadable()
}

function listOf(value: unknown, durationMs: number): Segment[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw unreadable()
  if (value.length > 1_000 + (maxSegmentsPerSecond * durationMs) / 1_000) throw tooMuch()
  if (!value.every((item) => typeof item === 'object' && item !== null)) throw unreadable()
  return value
}

/** It is shown to the owner if it is unknown. */
const readLanguage = (value: unknown) =>
  typeof value === 'string' && /^[\p{L}\p{N} _()-]{1,50}$/u.test(value) ? value : undefined

/** Whisper's own rule for audio without speech, in which it hears words that nobody said. */
const isNoise = ({ no_speech_prob, avg_logprob }: Segment) =>
  typeof no_speech_prob === 'number' &&
  typeof avg_logprob === 'number' &&
  no_speech_prob > 0.6 &&
  avg_logprob < -1

/** Times are in seconds. Some versions of LocalAI send nanoseconds. */
function unitOf(segments: Segment[], durationMs: number): number {
  const isNanoseconds = segments.some(({ end }) => typeof end === 'number' && end > 1_000 * durationMs)
  return isNanoseconds ? 1e-6 : 1_000
}

function milliseconds(value: unknown, unitMs: number): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw unreadable()
  return Math.round(value * unitMs)
}

/** Phrases in order and inside of the piece. Throws if the times or the amount of text are impossible. */
function checkPhrases(
  phrases: { fromMs: number; toMs: number; text: unknown }[],
  durationMs: number,
): Phrase[] {
  const checked: Phrase[] = []
  let characters = 0
  for (const { fromMs, toMs, text } of phrases) {
    if (typeof text !== 'string') throw unreadable()
    if (fromMs < -1_000 || toMs < fromMs || toMs > durationMs + maxOverrunMs)
      throw invalid('The speech recognition returned times outside of the audio.')
    const clean = cleanText(text)
    // A phrase that begins after the end was heard in the silence that servers append.
    if (clean === '' || fromMs >= durationMs) continue
    characters += clean.length
    checked.push({ fromMs: Math.max(0, fromMs), toMs: Math.min(durationMs, toMs), text: clean })
  }
  if (characters > 1_000 + (maxCharactersPerSecond * durationMs) / 1_000) throw tooMuch()
  return checked.sort((a, b) => a.fromMs - b.fromMs)
}

/** Without markup of the model and characters that are not text. */
function cleanText(text: string): string {
  return text
    .replace(/<\|[^|]*\|>|\[_[A-Z_0-9]+_\]|\[BLANK_AUDIO\]/g, ' ')
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
}
