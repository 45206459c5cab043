import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTurns } from './turns.ts'

test('so many run at once, so many wait, and no more are taken', async () => {
  const turns = createTurns(2, 1)
  const gates: PromiseWithResolvers<void>[] = []
  const begin = (name: string) =>
    turns.take(async () => {
      const gate = Promise.withResolvers<void>()
      gates.push(gate)
      await gate.promise
      return name
    })
  const all = [begin('a'), begin('b'), begin('c'), begin('d')]
  assert.equal(gates.length, 2)
  assert.equal(all[3], undefined)
  // One that fails makes room, too.
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
