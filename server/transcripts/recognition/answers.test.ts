import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ServerError } from '../server-request.ts'
import { readServerAnswer, readWhisperFile } from './answers.ts'

const read = (answer: object, durationMs = 10_000) => readServerAnswer(JSON.stringify(answer), durationMs)
const segment = (start: unknown, end: unknown, text: unknown = 'hello') => ({ start, end, text })

test('segments become phrases, in milliseconds and in order', () => {
  const answer = { language: 'english', segments: [segment(4, 5.5, ' b '), segment(0.25, 3.999, ' a\n')] }
  assert.deepEqual(read(answer), {
    language: 'english',
    phrases: [
      { fromMs: 250, toMs: 3_999, text: 'a' },
      { fromMs: 4_000, toMs: 5_500, text: 'b' },
    ],
  })
})

test('a server that sends only words, or nanoseconds, is understood', () => {
  const words = [{ word: 'Hello', start: 0, end: 0.5 }]
  assert.deepEqual(read({ text: 'Hello', segments: [], words }).phrases, [
    { fromMs: 0, toMs: 500, text: 'Hello' },
  ])
  assert.deepEqual(read({ segments: [segment(1_000_000_000, 2_500_000_000)] }).phrases, [
    { fromMs: 1_000, toMs: 2_500, text: 'hello' },
  ])
})

test('a language is a short name', () => {
  for (const language of ['', 'a\u0000b', '<b>', 'x'.repeat(51), 5, null])
    assert.equal(read({ language, segments: [] }).language, undefined)
  assert.equal(read({ language: 'Norwegian (Bokmål)', segments: [] }).language, 'Norwegian (Bokmål)')
})

test('words are ignored if there are segments', () => {
  assert.equal(read({ segments: [segment(0, 1)], words: {} }).phrases.length, 1)
})

test('the last phrase is cut at the end of the audio, and what was heard after it is dropped', () => {
  const answer = { segments: [segment(8, 11), segment(12, 15)] }
  assert.deepEqual(read(answer).phrases, [{ fromMs: 8_000, toMs: 10_000, text: 'hello' }])
})

test('silence is an answer without phrases', () => {
  assert.deepEqual(read({ text: '', segments: [] }).phrases, [])
  assert.deepEqual(read({ text: ' ' }).phrases, [])
  assert.deepEqual(read({ text: '[BLANK_AUDIO]', segments: [segment(0, 9, ' [BLANK_AUDIO]')] }).phrases, [])
  const noise = { ...segment(0, 2, 'Thank you.'), no_speech_prob: 0.9, avg_logprob: -1.5 }
  assert.deepEqual(read({ text: 'Thank you.', segments: [noise] }).phrases, [])
})

test('an answer that makes no sense is an error that can be retried', () => {
  for (const answer of [
    'null',
    '[]',
    'OK',
    '',
    '{}',
    '{"error": "failed to process audio"}',
    '{"segments": 5}',
    '{"segments": [null]}',
    '{"segments": [{"start": "0", "end": 1, "text": "a"}]}',
    '{"segments": [{"start": 0, "end": null, "text": "a"}]}',
    '{"segments": [{"start": 0, "end": 1}]}',
    '{"segments": [{"start": 5, "end": 1, "text": "a"}]}',
    '{"segments": [{"start": -9, "end": 1, "text": "a"}]}',
    '{"segments": [{"start": 600, "end": 601, "text": "a"}]}',
    JSON.stringify({ segments: [segment(0, 1, 'a'.repeat(100_000))] }),
  ]) {
    assert.throws(
      () => readServerAnswer(answer, 10_000),
      (error) => error instanceof ServerError && error.isRetryable,
      answer.slice(0, 80),
    )
  }
})

test('text without times is a final error that says what to change', () => {
  assert.throws(
    () => read({ text: 'Hello' }),
    (error) => error instanceof ServerError && !error.isRetryable && /verbose_json/.test(error.message),
  )
})

test('special tokens and control characters are removed', () => {
  const { phrases } = read({ segments: [segment(0, 1, '<|0.00|> a\u0000b\u2028c [_TT_50_]\ud800')] })
  assert.equal(phrases[0]!.text, 'a b c \ufffd')
})

test('the file of whisper-cli has milliseconds', () => {
  const file = {
    result: { language: 'de' },
    transcription: [
      { timestamps: { from: '00:00:01,000' }, offsets: { from: 1_000, to: 2_480 }, text: ' Hallo' },
    ],
  }
  assert.deepEqual(readWhisperFile(JSON.stringify(file), 10_000), {
    language: 'de',
    phrases: [{ fromMs: 1_000, toMs: 2_480, text: 'Hallo' }],
  })
  assert.throws(() => readWhisperFile('{}', 10_000), ServerError)
  assert.throws(() => readWhisperFile('{"transcription": [{"text": "a"}]}', 10_000), ServerError)
})

test('more segments than words that anyone can say are rejected, even if they are empty', () => {
  const many = (count: number) => ({ segments: Array(count).fill(segment(0, 1, '')) })
  assert.deepEqual(read(many(1_200)).phrases, [])
  assert.throws(() => read(many(1_201)), /more text than anyone can say/)
  assert.throws(() => read({ words: many(1_201).segments }), /more text than anyone can say/)
  const offsets = { offsets: { from: 0, to: 1 }, text: '' }
  const file = JSON.stringify({ transcription: Array(1_201).fill(offsets) })
  assert.throws(() => readWhisperFile(file, 10_000), /more text than anyone can say/)
})
