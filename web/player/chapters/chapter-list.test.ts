import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chapterAt, cleanChapters } from './chapter-list.ts'

const clean = (...chapters: [title: string, start: number, end: number][]) =>
  cleanChapters(
    chapters.map(([title, startSeconds, endSeconds]) => ({ title, startSeconds, endSeconds })),
    60,
  ).map(({ title, startSeconds, endSeconds }) => `${title} ${startSeconds}-${endSeconds}`)

test('chapters stay as they are if they follow each other, even with a gap', () => {
  assert.deepEqual(clean(['a', 0, 10], ['b', 10, 30], ['c', 40, 60]), ['a 0-10', 'b 10-30', 'c 40-60'])
})

test('chapters are sorted, and overlaps, invalid ends and empty titles are removed', () => {
  assert.deepEqual(clean(['b', 20, 50], ['a', 0, 30]), ['a 0-20', 'b 20-50'])
  assert.deepEqual(clean(['a', 10, 5], ['b', 30, 30]), ['a 10-30', 'b 30-60'])
  assert.deepEqual(clean(['a', 10, 20], ['again', 10, 30]), ['a 10-20'])
  assert.deepEqual(clean(['', 0, 10], ['a', 5, 10]), ['a 5-10'])
})

test('chapters after the end are removed, and the last one ends with the video', () => {
  assert.deepEqual(clean(['a', 50, 90], ['b', 60, 70], ['c', 1e9, 2e9]), ['a 50-60'])
  assert.deepEqual(cleanChapters([{ title: 'a', startSeconds: 0, endSeconds: 1 }], Number.NaN), [])
})

test('the number of chapters is limited', () => {
  const many = Array.from({ length: 100_000 }, (_, i) => ({
    title: 'x',
    startSeconds: i / 1e4,
    endSeconds: 10,
  }))
  assert.equal(cleanChapters(many, 60).length, 100)
})

test('a position belongs to the chapter that contains it', () => {
  const chapters = cleanChapters(
    [
      { title: 'a', startSeconds: 5, endSeconds: 10 },
      { title: 'b', startSeconds: 10, endSeconds: 60 },
    ],
    60,
  )
  assert.deepEqual(
    [0, 5, 10, 60].map((seconds) => chapterAt(chapters, seconds)),
    [-1, 0, 1, 1],
  )
})
