import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { QueryCache } from './query-cache.ts'

type Value = { n: number }

/** A cache whose queries the test answers. The fresh results are over after `pass`. */
function createCache(t: TestContext) {
  let nowMs = 1
  t.mock.method(performance, 'now', () => nowMs)
  const queries: PromiseWithResolvers<Value | undefined>[] = []
  const cache = new QueryCache<Value>(() => {
    const query = Promise.withResolvers<Value | undefined>()
    queries.push(query)
    return query.promise
  })
  const pass = (ms: number) => {
    nowMs += ms
  }
  return { cache, queries, pass }
}

test('many requests are answered by one query, until its result is a second old', async (t) => {
  const { cache, queries, pass } = createCache(t)
  const found = [cache.find('a'), cache.find('a')]
  queries[0]!.resolve({ n: 1 })
  assert.deepEqual(await Promise.all(found), [{ n: 1 }, { n: 1 }])
  await cache.find('a')
  assert.equal(queries.length, 1)
  pass(1_001)
  const next = cache.find('a')
  queries[1]!.resolve(undefined)
  assert.equal(await next, undefined)
})

test('if the database fails or hangs, the last result is used for a minute', async (t) => {
  const { cache, queries, pass } = createCache(t)
  cache.set('a', { n: 1 })
  pass(1_001)
  const failed = cache.find('a')
  queries[0]!.reject(new Error('away'))
  assert.deepEqual(await failed, { n: 1 })
  pass(1_001)
  // This query is never answered.
  assert.deepEqual(await cache.find('a'), { n: 1 })
  pass(60_000)
  const late = cache.find('a')
  queries[2]!.reject(new Error('away'))
  await assert.rejects(late, /away/)
})

test('an error is not cached, and what is gone is not used', async (t) => {
  const { cache, queries, pass } = createCache(t)
  const failed = cache.find('a')
  queries[0]!.reject(new Error('away'))
  await assert.rejects(failed)
  const found = cache.find('a')
  queries[1]!.resolve({ n: 1 })
  assert.deepEqual(await found, { n: 1 })
  cache.set('a', undefined)
  pass(1_001)
  const next = cache.find('a')
  queries[2]!.reject(new Error('away'))
  await assert.rejects(next)
})
