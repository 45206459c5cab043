import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { createConcurrencyLimit } from './concurrency-limit.ts'

test('the numbers of running and of waiting tasks are limited', async () => {
  const limit = createConcurrencyLimit(2, 1)
  const gates: PromiseWithResolvers<void>[] = []
  const begin = (name: string) =>
    limit.run(async () => {
      const gate = Promise.withResolvers<void>()
      gates.push(gate)
      await gate.promise
      return name
    })
  const all = [begin('a'), begin('b'), begin('c'), begin('d')]
  await nextTurn()
  assert.equal(gates.length, 2)
  assert.equal(all[3], undefined)
  // A task that fails makes room as well.
  gates[0]!.reject(new Error('no'))
  await assert.rejects(all[0]!)
  await nextTurn()
  assert.equal(gates.length, 3)
  gates[1]!.resolve()
  gates[2]!.resolve()
  assert.deepEqual(await Promise.all([all[1], all[2]]), ['b', 'c'])
  const last = begin('e')
  await nextTurn()
  gates[3]!.resolve()
  assert.equal(await last, 'e')
})
