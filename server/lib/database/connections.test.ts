import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultConnections, minConnections, shareConnections } from './connections.ts'

test('all connections of a process are divided, and jobs with locks leave some to viewers', () => {
  assert.deepEqual(shareConnections(), { all: 20, keyed: 8, lists: 4, jobs: 4, listener: 1 })
  for (let total = minConnections; total <= 3 * defaultConnections; total++) {
    const shares = Object.values(shareConnections(total))
    assert.equal(
      shares.reduce((sum, each) => sum + each, 0),
      total,
    )
    assert.ok(shareConnections(total).all > 10 && Math.min(...shares) >= 1, `${total}: ${shares}`)
  }
})
