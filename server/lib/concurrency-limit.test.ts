import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createConcurrencyLimit } from './concurrency-limit.ts'

test('the limit runs two, queues one and rejects the rest', async () => {
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
  assert.equal(gates.length, 2)
  assert.equal(all[3], undefined)
  // A failure frees its slot as well.
  gates[0]!.reject(new Error('no'))
  await assert.rejects(all[0]!)
  assert.equal(gates.length, 3)
  gates[1]!.resolve()
  gates[2]!.resolve()
  assert.deepEqual(await Promise.all([all[1], all[2]]), ['b', 'c'])
  const last = begin('e')
  gates[3]!.resolve()
  assert.equal(await last, 'e')
})
