import assert from 'node:assert/strict'
import { test } from 'node:test'
import { firstOf } from './first-of.ts'

test('attempts start one after the other until one succeeds', async () => {
  const started: number[] = []
  const result = await firstOf([1, 2, 3], async (n) => {
    started.push(n)
    if (n < 2) throw new Error('failed')
    return n
  })
  assert.equal(result, 2)
  assert.deepEqual(started, [1, 2])
})

test('an attempt that takes long does not keep the next one from starting', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const started: number[] = []
  const first = firstOf([1, 2], async (n) => {
    started.push(n)
    return n === 1 ? new Promise<number>(() => {}) : n
  })
  assert.deepEqual(started, [1])
  t.mock.timers.tick(250)
  assert.equal(await first, 2)
})

test('the error has those of all attempts', async () => {
  const failing = firstOf(['a', 'b'], async (name) => {
    throw new Error(name)
  })
  await assert.rejects(failing, (error: AggregateError) => {
    assert.deepEqual(
      error.errors.map(({ message }) => message),
      ['a', 'b'],
    )
    return true
  })
})
