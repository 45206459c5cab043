import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRequestCounter } from './request-counter.ts'

test('each subject can use each class up to its limit in a minute, and again in the next one', () => {
  let time = 1_000_000
  const use = createRequestCounter({ uploads: 9, writes: 2, reads: 1 }, () => time)
  assert.deepEqual(use('a', 'writes'), { limit: 2, remaining: 1, retryAfterSeconds: 60, isExceeded: false })
  time += 15_000
  assert.deepEqual(use('a', 'writes'), { limit: 2, remaining: 0, retryAfterSeconds: 45, isExceeded: false })
  assert.equal(use('a', 'writes').isExceeded, true)
  assert.equal(use('a', 'reads').isExceeded, false)
  assert.equal(use('b', 'writes').isExceeded, false)
  time += 45_000
  assert.deepEqual(use('a', 'writes'), { limit: 2, remaining: 1, retryAfterSeconds: 60, isExceeded: false })
})
