import assert from 'node:assert/strict'
import { test } from 'node:test'
import { retryAfterMs, settle } from './retry.ts'

const attempt = (status: number | null) => ({ at: '', durationMs: 0, status, answer: null, error: null })

test('there are three attempts, three seconds apart (6.1.2)', () => {
  assert.deepEqual([1, 2, 3, 4].map(retryAfterMs), [3_000, 3_000, undefined, undefined])
})

test('followed by a clock, a receiver that never succeeds is asked at 0, 3 and 6 seconds', () => {
  const asked: number[] = []
  let clockMs = 0
  let tries = 0
  for (;;) {
    asked.push(clockMs)
    const settled = settle(tries, attempt(503))
    tries = settled.tries
    if (settled.state !== 'pending') {
      assert.equal(settled.state, 'failed')
      break
    }
    clockMs += settled.afterMs
  }
  assert.deepEqual(asked, [0, 3_000, 6_000])
})

test('2xx is success, whichever attempt it answers; all else is not', () => {
  for (const status of [200, 201, 204, 299]) {
    for (const tries of [0, 1, 2]) {
      assert.deepEqual(settle(tries, attempt(status)), { state: 'succeeded', tries: tries + 1 })
    }
  }
  for (const status of [null, 101, 199, 300, 301, 400, 404, 410, 500, 503]) {
    assert.deepEqual(settle(0, attempt(status)), { state: 'pending', tries: 1, afterMs: 3_000 })
    assert.deepEqual(settle(2, attempt(status)), { state: 'failed', tries: 3 })
  }
})
