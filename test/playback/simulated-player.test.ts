import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedPlayer } from '../../bench/simulated-player.ts'

// The benchmark of stalls is only as good as its player.

/** Shows the player pairs of times and available seconds. */
function watch(targetSeconds: number, ...growth: [time: number, available: number][]) {
  const player = new SimulatedPlayer(targetSeconds)
  for (const [time, available] of growth) player.advance(time, available)
  return player
}

test('a simulated player starts with the first segment and plays on if more arrives in time', () => {
  const player = watch(10, [0.5, 0], [1, 1], [1.5, 2], [2.9, 6], [6, 10])
  assert.equal(player.startedAt, 1)
  assert.deepEqual(player.stalls, [])
  assert.ok(player.isSafe)
})

test('a simulated player stalls at the end of its buffer and continues with two seconds more', () => {
  const player = watch(10, [1, 2], [4, 3], [5, 4], [7.5, 4], [8, 10])
  assert.deepEqual(player.stalls, [
    { positionSeconds: 2, seconds: 2 },
    { positionSeconds: 4, seconds: 1 },
  ])
})

test('a simulated player needs no buffer at the end, and does not stall there', () => {
  const player = watch(3, [1, 2], [2, 2.5], [2.9, 3], [10, 3])
  assert.deepEqual(player.stalls, [])
  assert.equal(watch(1, [1, 1]).startedAt, 1)
})

test('a stall that has not ended counts', () => {
  const player = watch(10, [1, 2])
  player.stop(8)
  assert.deepEqual(player.stalls, [{ positionSeconds: 2, seconds: 5 }])
  assert.equal(player.isSafe, false)
})
