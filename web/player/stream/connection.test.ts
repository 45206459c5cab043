import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DataWatch, isRejection, retryDelayMs } from './connection.ts'
import { retryPolicy } from './recovery.ts'

test('retries wait longer each time, up to a limit, and not exactly as long as those of other viewers', () => {
  assert.deepEqual(
    [0, 1, 2, 3, 4, 1000].map((retries) => retryDelayMs(retries, 0.5)),
    [1000, 2000, 4000, 8000, 15_000, 15_000],
  )
  assert.equal(retryDelayMs(0, 0), 750)
  assert.ok(retryDelayMs(0, 0.999) < 1250)
})

test('a rejected request is told apart from a server that cannot answer', () => {
  for (const status of [400, 401, 403, 404, 410]) assert.equal(isRejection(status), true, String(status))
  for (const status of [0, 200, 206, 302, 408, 429, 500, 502, 503, 504])
    assert.equal(isRejection(status), false, String(status))
})

test('a file is requested for as long as there is no connection, also after a thousand retries', () => {
  const retries = (status: number | undefined, count: number, isGrowing = false, isTimeout = false) => {
    const policy = retryPolicy(() => isGrowing)
    const response = status === undefined ? undefined : { url: '', data: undefined, code: status }
    return policy.shouldRetry!(policy, count, isTimeout, response, false)
  }
  assert.equal(retries(0, 1000), true)
  assert.equal(retries(404, 0), false)
  assert.equal(retries(undefined, 0), false, 'a segment that cannot be parsed')
  // Another quality may not be affected by failures of the server.
  assert.deepEqual([retries(503, 3), retries(503, 4)], [true, false])
  assert.deepEqual([retries(0, 3, false, true), retries(undefined, 4, false, true)], [true, false])
  // hls.js would skip a segment of a growing video.
  assert.equal(retries(503, 1000, true), true)
  assert.equal(retries(undefined, 1000, true, true), true)
  assert.equal(retries(404, 0, true), false)
})

test('the time without data counts from the last byte, and only while something is requested', () => {
  const watch = new DataWatch()
  const request = { stats: { loaded: 0 } }
  assert.equal(watch.silentMs(1000), 0)
  watch.start(request)
  assert.equal(watch.silentMs(2000), 1000)
  request.stats.loaded = 100
  assert.equal(watch.silentMs(3000), 0)
  assert.equal(watch.silentMs(7000), 4000)
  watch.succeed(request)
  assert.equal(watch.silentMs(8000), 0)
  assert.equal(watch.silentMs(20_000), 0, 'nothing is requested')
})

test('a failed request counts as waiting until data arrive, and a canceled one does not', () => {
  const watch = new DataWatch()
  const [first, second, third] = [0, 0, 0].map(() => ({ stats: { loaded: 0 } }))
  watch.silentMs(0)
  watch.start(first!)
  watch.fail(first!)
  assert.equal(watch.silentMs(9000), 9000)
  watch.start(second!)
  assert.equal(watch.silentMs(10_000), 10_000)
  watch.succeed(second!)
  assert.equal(watch.silentMs(11_000), 0)
  watch.start(third!)
  watch.cancel(third!)
  assert.equal(watch.silentMs(20_000), 0)
})
