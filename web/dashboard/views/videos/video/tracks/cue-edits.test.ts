import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addCue, cueAt, mergeCue, problemOf, removeCue, splitCue, warningOf } from './cue-edits.ts'
import { type Cue, parseWebVtt } from './webvtt.ts'

const { cues } = parseWebVtt(`WEBVTT

00:01.000 --> 00:03.000
one two three four

NOTE kept

00:04.000 --> 00:06.000 line:0
five
six
`)
const [first, second] = cues as [Cue, Cue]
const show = (list: Cue[]) => list.map(({ start, end, text }) => [start, end, text])

test('a cue is split at the position of the player and at the caret, or in the middle', () => {
  assert.deepEqual(show(splitCue(cues, first.key, 1_500, 3)).slice(0, 2), [
    ['00:01.000', '00:01.500', 'one'],
    ['00:01.500', '00:03.000', 'two three four'],
  ])
  assert.deepEqual(show(splitCue(cues, first.key, 9_000, 0)).slice(0, 2), [
    ['00:01.000', '00:02.000', 'one two'],
    ['00:02.000', '00:03.000', 'three four'],
  ])
  const lines = splitCue(cues, second.key, 0, 0)
  assert.deepEqual(show(lines).slice(1), [
    ['00:04.000', '00:05.000', 'five'],
    ['00:05.000', '00:06.000', 'six'],
  ])
  assert.equal(lines[2]!.settings, 'line:0')
})

test('merging and removing keep the comments between cues', () => {
  const merged = mergeCue(cues, first.key)
  assert.deepEqual(show(merged), [['00:01.000', '00:06.000', 'one two three four\nfive\nsix']])
  assert.deepEqual(merged[0]!.before, ['NOTE kept'])
  assert.equal(mergeCue(cues, second.key), cues)
  const [rest] = removeCue(splitCue(cues, second.key, 0, 0), second.key).slice(1)
  assert.deepEqual(rest!.before, ['NOTE kept'])
})

test('a new cue ends before the next one begins', () => {
  assert.deepEqual(show(addCue(cues, 3_000, 1))[1], ['00:03.000', '00:04.000', ''])
  assert.deepEqual(show(addCue(cues, 10_000, 1))[2], ['00:10.000', '00:12.000', ''])
  assert.deepEqual(show(addCue([], 0, 1)), [['00:00.000', '00:02.000', '']])
})

test('mistakes are found', () => {
  assert.equal(problemOf(first), undefined)
  assert.equal(problemOf({ ...first, start: 'x' }), 'start')
  assert.equal(problemOf({ ...first, end: '' }), 'end')
  assert.equal(problemOf({ ...first, end: '00:01.000' }), 'order')
  assert.equal(problemOf({ ...first, text: ' \n' }), 'text')
  assert.equal(problemOf({ ...first, text: 'a --> b' }), 'arrow')
  assert.equal(warningOf(first, second, 0), 'unsorted')
  assert.equal(warningOf(second, first, 4_000), 'late')
  assert.equal(warningOf(second, first, 0), undefined)
})

test('the cue of a time is found', () => {
  assert.equal(cueAt(cues, 1_000), first)
  assert.equal(cueAt(cues, 3_000), undefined)
  assert.equal(cueAt(cues, 5_999), second)
})
