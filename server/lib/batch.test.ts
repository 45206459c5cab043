import assert from 'node:assert/strict'
import { test } from 'node:test'
import { batch } from './batch.ts'

test('lookups of one event loop iteration become one call, and each gets its own value', async () => {
  const calls: number[][] = []
  const double = batch(4, async (keys: number[]) => {
    calls.push(keys)
    return keys.map((n) => n * 2)
  })
  assert.deepEqual(await Promise.all([1, 2, 3].map(double)), [2, 4, 6])
  assert.deepEqual(await Promise.all([1, 2, 3, 4, 5, 6].map(double)), [2, 4, 6, 8, 10, 12])
  assert.equal(await double(7), 14)
  assert.deepEqual(calls, [[1, 2, 3], [1, 2, 3, 4], [5, 6], [7]])
})

test('a failed call rejects its own lookups and no others', async () => {
  const work = batch(100, async (keys: number[]) => {
    if (keys.includes(0)) throw new Error('no')
    return keys
  })
  const settled = await Promise.allSettled([work(1), work(0)])
  assert.deepEqual(
    settled.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  assert.equal(await work(1), 1)
})
