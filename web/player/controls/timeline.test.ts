import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shownDuration } from './timeline.ts'

test('a duration that misses a whole second by a few frames is shown as that second', () => {
  assert.equal(shownDuration(30), 30)
  assert.equal(shownDuration((899 * 1001) / 30_000), 30)
  assert.equal(shownDuration(29.9), 29.9)
  assert.equal(shownDuration(30.02), 30.02)
})
