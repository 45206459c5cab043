import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatTime, parseTime, parseWebVtt, writeWebVtt } from './webvtt.ts'

const file = `WEBVTT - Film
X-TIMESTAMP-MAP=LOCAL:00:00:00.000,MPEGTS:0

STYLE
::cue { color: red }

NOTE first
comment

intro
00:01.000 --> 00:02.500 line:0 align:start
<v Ada>Hello</v>
<img src=x onerror=alert(1)>

01:00:03.000 --> 01:00:04.000
&amp; again

NOTE the end
`

test('a file that is not changed is written as it was', () => {
  assert.equal(writeWebVtt(parseWebVtt(file)), file)
})

test('cues have their times, texts, identifiers and settings', () => {
  const { cues } = parseWebVtt(`\uFEFF${file.replaceAll('\n', '\r\n')}`)
  assert.deepEqual(
    cues.map(({ key, before, ...cue }) => cue),
    [
      {
        id: 'intro',
        start: '00:01.000',
        end: '00:02.500',
        settings: 'line:0 align:start',
        text: '<v Ada>Hello</v>\n<img src=x onerror=alert(1)>',
      },
      { id: '', start: '01:00:03.000', end: '01:00:04.000', settings: '', text: '&amp; again' },
    ],
  )
})

test('malformed parts are kept', () => {
  const strange =
    'WEBVTT\n\n00:01.000 -> 00:02.000\nno arrow\n\n99:99.000 --> 1\nno time\n\n00:01.000 --> 00:02.000\ngood\n'
  const parsed = parseWebVtt(strange)
  assert.deepEqual(
    parsed.cues.map(({ text }) => text),
    ['good'],
  )
  assert.equal(writeWebVtt(parsed), strange)
})

test('an empty line in a text does not end the cue', () => {
  const { cues, ...rest } = parseWebVtt('WEBVTT\n\n00:01.000 --> 00:02.000\none\n')
  const written = writeWebVtt({ ...rest, cues: cues.map((cue) => ({ ...cue, text: 'one\n\n \ntwo\n' })) })
  assert.equal(written, 'WEBVTT\n\n00:01.000 --> 00:02.000\none\ntwo\n')
})

test('times are read in every usual spelling', () => {
  for (const [text, ms] of [
    ['0', 0],
    ['12', 12_000],
    ['75.5', 75_500],
    ['1:02', 62_000],
    ['01:02,5', 62_500],
    ['1:02:03.004', 3_723_004],
    [' 00:01.000 ', 1_000],
  ] as const)
    assert.equal(parseTime(text), ms, text)
  for (const text of ['', 'x', '1:60', '60:00', '1:2:3:4', '-1', '1.2345', '--> 1'])
    assert.equal(parseTime(text), undefined, text)
  assert.equal(formatTime(62_500), '01:02.500')
  assert.equal(formatTime(3_723_004), '01:02:03.004')
})
