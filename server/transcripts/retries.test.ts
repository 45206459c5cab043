import assert from 'node:assert/strict'
import { test } from 'node:test'
import { delayAfter } from './retries.ts'
import { readRetryAfter, ServerError } from './server-request.ts'

test('the delay doubles with each attempt, up to ten minutes', () => {
  const delays = [1, 2, 3, 7, 8].map((attempts) => delayAfter(attempts, new Error('failed')))
  assert.deepEqual(delays, [10_000, 20_000, 40_000, 600_000, 600_000])
})

test('a server can ask for a longer delay', () => {
  const error = (retryAfterMs: number) => new ServerError('busy', { isRetryable: true, retryAfterMs })
  assert.equal(delayAfter(1, error(120_000)), 120_000)
  assert.equal(delayAfter(1, error(1_000)), 10_000)
})

test('Retry-After is a number of seconds or a date, and at most an hour', () => {
  const now = Date.parse('2026-01-01T00:00:00Z')
  assert.equal(readRetryAfter('30', now), 30_000)
  assert.equal(readRetryAfter('Thu, 01 Jan 2026 00:01:00 GMT', now), 60_000)
  assert.equal(readRetryAfter('Wed, 31 Dec 2025 00:00:00 GMT', now), 0)
  assert.equal(readRetryAfter('999999', now), 3_600_000)
  for (const wrong of [undefined, 'soon', '-5', '1e9']) assert.equal(readRetryAfter(wrong, now), undefined)
})
