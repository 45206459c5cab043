import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextState, retryAfterMs } from './retry.ts'

const attempt = (status: number | null) => ({ at: '', durationMs: 0, status, answer: null, error: null })

test('there are three attempts, three seconds apart', () => {
  assert.deepEqual([1, 2, 3, 4].map(retryAfterMs), [3_000, 3_000, undefined, undefined])
})

test('a receiver that never succeeds gets attempts at 0, 3 and 6 seconds', () => {
  const asked: number[] = []
  let clockMs = 0
  let tries = 0
  for (;;) {
    asked.push(clockMs)
    const next = nextState(tries, attempt(503))
    tries = next.tries
    if (next.state !== 'pending') {
      assert.equal(next.state, 'failed')
      break
    }
    clockMs += next.afterMs
  }
  assert.deepEqual(asked, [0, 3_000, 6_000])
})

test('only a 2xx response is a success, on any attempt', () => {
  for (const status of [200, 201, 204, 299]) {
    for (const tries of [0, 1, 2]) {
      assert.deepEqual(nextState(tries, attempt(status)), { state: 'succeeded', tries: tries + 1 })
    }
  }
  for (const status of [null, 101, 199, 300, 301, 400, 404, 410, 500, 503]) {
    assert.deepEqual(nextState(0, attempt(status)), { state: 'pending', tries: 1, afterMs: 3_000 })
    assert.deepEqual(nextState(2, attempt(status)), { state: 'failed', tries: 3 })
  }
})
