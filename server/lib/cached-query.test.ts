import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CachedQuery } from './cached-query.ts'

/** A query that takes `tookMs` on a clock that only the test moves. */
function createQuery(minMs: number) {
  const state = { now: 0, runs: 0, tookMs: 0, error: undefined as Error | undefined }
  const query = async () => {
    const run = ++state.runs
    state.now += state.tookMs
    if (state.error) throw state.error
    return run
  }
  return { state, cached: new CachedQuery(query, minMs, () => state.now) }
}

test('a hundred callers share one query', async () => {
  const { state, cached } = createQuery(1_000)
  const results = await Promise.all(Array.from({ length: 100 }, () => cached.read()))
  assert.deepEqual([...new Set(results)], [1])
  state.now += 999
  assert.equal(await cached.read(), 1)
  state.now += 1
  assert.equal(await cached.read(), 2)
  assert.equal(state.runs, 2)
})

test('a query that takes long runs for a hundredth of the time at most', async () => {
  const { state, cached } = createQuery(1_000)
  state.tookMs = 2_000
  await cached.read()
  state.now += 197_000
  assert.equal(await cached.read(), 1)
  state.now += 1_000
  assert.equal(await cached.read(), 2)
})

test('there is no result after an error, until the query succeeds again', async () => {
  const { state, cached } = createQuery(1_000)
  await cached.read()
  state.now += 1_000
  state.error = new Error('the database is away')
  assert.equal(await cached.read(), undefined)
  state.error = undefined
  assert.equal(await cached.read(), 3)
})

test('a query that fails after a long time is not repeated at once', async () => {
  const { state, cached } = createQuery(1_000)
  state.tookMs = 2_000
  state.error = new Error('canceled because of a timeout')
  assert.equal(await cached.read(), undefined)
  state.now += 17_000
  assert.equal(await cached.read(), undefined)
  assert.equal(state.runs, 1)
  state.error = undefined
  state.now += 1_000
  assert.equal(await cached.read(), 2)
})

test('a query that hangs is not repeated, and its last result expires', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let [now, runs] = [0, 0]
  const cached = new CachedQuery(
    () => (++runs === 1 ? Promise.resolve('result') : new Promise<string>(() => {})),
    1_000,
    () => now,
  )
  const read = async () => {
    const reading = cached.read()
    t.mock.timers.tick(3_000)
    return reading
  }
  assert.equal(await cached.read(), 'result')
  now = 1_000
  assert.equal(await read(), 'result')
  now = 61_000
  assert.equal(await read(), undefined)
  assert.equal(runs, 2)
})
