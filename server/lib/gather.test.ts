import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gather } from './gather.ts'

test('what is asked in one turn is one call, and each gets its own answer', async () => {
  const calls: number[][] = []
  const double = gather(4, async (asks: number[]) => {
    calls.push(asks)
    return asks.map((n) => n * 2)
  })
  assert.deepEqual(await Promise.all([1, 2, 3].map(double)), [2, 4, 6])
  assert.deepEqual(await Promise.all([1, 2, 3, 4, 5, 6].map(double)), [2, 4, 6, 8, 10, 12])
  assert.equal(await double(7), 14)
  assert.deepEqual(calls, [[1, 2, 3], [1, 2, 3, 4], [5, 6], [7]])
})

test('a call that fails is told to all of its own, and to nobody else', async () => {
  const work = gather(100, async (asks: number[]) => {
    if (asks.includes(0)) throw new Error('no')
    return asks
  })
  const settled = await Promise.allSettled([work(1), work(0)])
  assert.deepEqual(
    settled.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  assert.equal(await work(1), 1)
})
