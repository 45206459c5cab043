import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeCues, makeWebVtt } from './cues.ts'

const sentence =
  'Whoever wants to read a caption while a film is running needs lines that are short enough, and cues that stay long enough.'

test('a long phrase is divided into cues of two lines, and no word is lost', async () => {
  const phrases = [{ fromMs: 1_000, toMs: 9_000, text: sentence }]
  const cues = makeCues(phrases, 'en')
  assert.equal(cues.map(({ text }) => text).join(' '), sentence)
  assert.equal(cues[0]!.fromMs, 1_000)
  assert.equal(cues.at(-1)!.toMs, 9_000)
  const lines = (await makeWebVtt(phrases, 'en'))
    .split('\n')
    .filter((line) => line && line !== 'WEBVTT' && !line.includes('-->'))
  assert.ok(
    lines.every((line) => line.length <= 42),
    lines.join('\n'),
  )
  assert.equal(lines.join(' '), sentence)
})

test('single words become cues that end with a sentence, a pause or the maximum length', () => {
  const words = 'This is one. This is two and it goes on'.split(' ')
  const phrases = words.map((text, i) => ({ fromMs: i * 300, toMs: i * 300 + 250, text }))
  const late = { fromMs: 60_000, toMs: 60_500, text: 'later' }
  assert.deepEqual(
    makeCues([...phrases, late], 'en').map(({ text }) => text),
    ['This is one.', 'This is two and it goes on', 'later'],
  )
})

test('cues do not overlap, whatever the times of the phrases are', async () => {
  const phrases = [
    { fromMs: 0, toMs: 5_000, text: 'one two' },
    { fromMs: 100, toMs: 100, text: 'three four' },
    { fromMs: 100, toMs: 200, text: 'five six' },
  ]
  const cues = makeCues(phrases, 'en')
  assert.equal(cues.length, 3)
  for (const [i, cue] of cues.entries()) {
    assert.ok(cue.toMs > cue.fromMs)
    if (i > 0) assert.ok(cue.fromMs >= cues[i - 1]!.toMs)
  }
  const many = Array.from({ length: 1_000 }, () => ({ fromMs: 0, toMs: 100, text: 'a b' }))
  const times = (await makeWebVtt(many, 'en')).match(/\d\d:\d\d:\d\d\.\d{3}/g)!
  assert.equal(times.length, 2_000)
  assert.deepEqual(times, times.toSorted())
})

test('languages without spaces are divided between words', () => {
  const text = '東京は日本の首都であり、世界でも最も人口の多い都市のひとつです。'.repeat(3)
  const cues = makeCues([{ fromMs: 0, toMs: 12_000, text }], 'ja')
  assert.ok(cues.length > 1)
  assert.equal(cues.map((cue) => cue.text).join(''), text)
})

test('markup is shown as text', async () => {
  const vtt = await makeWebVtt(
    [{ fromMs: 0, toMs: 1_000, text: '<script>alert(1)</script> a --> b & c' }],
    'en',
  )
  assert.match(vtt, /&lt;script&gt;alert\(1\)&lt;\/script&gt; a\s--&gt; b\s&amp; c/)
  assert.equal(vtt.match(/-->/g)?.length, 1)
})

test('a word without end is divided', () => {
  const cues = makeCues([{ fromMs: 0, toMs: 1_000, text: 'x'.repeat(20_000) }], 'en')
  assert.equal(cues.map(({ text }) => text).join('').length, 20_000)
  assert.ok(cues.every(({ text }) => text.length <= 84))
})

test('times have hours, minutes, seconds and milliseconds', async () => {
  const vtt = await makeWebVtt([{ fromMs: 35_999_999, toMs: 36_001_001, text: 'end' }], 'en')
  assert.equal(vtt, 'WEBVTT\n\n09:59:59.999 --> 10:00:01.001\nend\n')
})
