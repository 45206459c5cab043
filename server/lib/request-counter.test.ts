import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRequestCounter } from './request-counter.ts'

const minute = 60_000

test('each subject can use each class up to its limit in a minute, and again in the next one', () => {
  let time = 20 * minute
  const { count } = createRequestCounter({ uploads: 9, writes: 2, reads: 1 }, () => time)
  assert.deepEqual(count('a', 'writes'), { limit: 2, remaining: 1, retryAfterSeconds: 60, isExceeded: false })
  time += 15_000
  assert.deepEqual(count('a', 'writes'), { limit: 2, remaining: 0, retryAfterSeconds: 45, isExceeded: false })
  assert.equal(count('a', 'writes').isExceeded, true)
  assert.equal(count('a', 'reads').isExceeded, false)
  assert.equal(count('b', 'writes').isExceeded, false)
  time += 45_000
  assert.deepEqual(count('a', 'writes'), { limit: 2, remaining: 1, retryAfterSeconds: 60, isExceeded: false })
})

test('a window ends within a minute after the clock was set back', () => {
  let time = 20 * minute
  const { count } = createRequestCounter({ uploads: 9, writes: 9, reads: 1 }, () => time)
  count('a', 'reads')
  time -= 2 * minute
  assert.equal(count('a', 'reads').isExceeded, false)
})

test('requests that another process has counted use up the same limit', () => {
  const limits = { uploads: 9, writes: 9, reads: 5 }
  const [one, two] = [createRequestCounter(limits, () => 0), createRequestCounter(limits, () => 0)]
  for (let i = 0; i < 3; i++) one.count('a', 'reads')
  one.count('b', 'reads')
  const counted = one.takeCounted(10)
  assert.deepEqual(
    counted.map(([, requests]) => requests),
    [3, 1],
    'those of the subject with the most requests first',
  )
  assert.doesNotMatch(JSON.stringify(counted), /"a/, 'subjects are secret')
  two.add(counted)
  assert.equal(two.count('a', 'reads').remaining, 1)
  assert.equal(two.count('b', 'reads').remaining, 3)
  assert.deepEqual(one.takeCounted(10), [], 'each request is announced once')
  for (let i = 0; i < 2; i++) two.count('a', 'reads')
  assert.equal(two.count('a', 'reads').isExceeded, true)
})

test('requests of a minute that is over do not count in the next one', () => {
  let time = 0
  const limits = { uploads: 9, writes: 9, reads: 5 }
  const [one, two] = [createRequestCounter(limits, () => time), createRequestCounter(limits, () => time)]
  one.count('a', 'reads')
  time = minute
  two.add(one.takeCounted(10))
  assert.equal(two.count('a', 'reads').remaining, 4)
})
