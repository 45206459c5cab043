import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Timeline } from './timeline.ts'

const map = (timeline: Timeline, ...timestamps: number[]) => timestamps.map((each) => timeline.map(each, 40))

test('a timeline starts where it should and keeps the distances', () => {
  assert.deepEqual(map(new Timeline(10_000), 500, 540, 520, 580), [10_000, 10_040, 10_020, 10_080])
})

test('a wrap-around of the timestamps is no jump', () => {
  const timeline = new Timeline(0)
  assert.deepEqual(map(timeline, 2 ** 32 - 40, 0, 40, 80), [0, 40, 80, 120])
  assert.equal(timeline.jumps, 0)
})

test('a jump forwards or backwards becomes one step, and late samples from before it keep their time', () => {
  const timeline = new Timeline(0)
  const before = map(timeline, 0, 2_000, 4_000)
  assert.deepEqual(before, [0, 2_000, 4_000])
  assert.deepEqual(map(timeline, 900_000, 4_020, 900_040), [4_040, 4_020, 4_080])
  assert.deepEqual(map(timeline, 5, 45), [4_120, 4_160])
  assert.equal(timeline.jumps, 2)
})

test('whatever the timestamps are, the times never leave the timeline', () => {
  const timestamps = fc.array(fc.nat({ max: 2 ** 32 - 1 }), { maxLength: 50 })
  fc.assert(
    fc.property(timestamps, (given) => {
      const timeline = new Timeline(1_000)
      let last = 1_000
      for (const timestamp of given) {
        const at = timeline.map(timestamp, 40)
        assert.ok(at >= 1_000 && Math.abs(at - last) <= 3_000, `${at} after ${last}`)
        last = Math.max(last, at)
      }
    }),
  )
})

test('each track follows its own clock over a jump and over a wrap-around', () => {
  const timeline = new Timeline(0)
  const [video, audio] = [track(timeline), track(timeline)]
  assert.deepEqual([video(10_000), audio(10_010), video(10_040)], [0, 10, 40])
  // The clock is set back by two seconds. The audio from before arrives later.
  assert.deepEqual([video(8_080), audio(10_033), audio(8_056), video(8_120)], [80, 33, 56, 120])
  assert.equal(timeline.jumps, 1)
  const other = new Timeline(0)
  const [first, second] = [track(other), track(other)]
  const end = 2 ** 32
  assert.deepEqual(
    [first(end - 40), second(end - 30), first(0), second(end - 7), second(16)],
    [0, 10, 40, 33, 56],
  )
  assert.equal(other.jumps, 0)
})

function track(timeline: Timeline): (timestamp: number) => number {
  let last: number | undefined
  return (timestamp) => {
    last = timeline.map(timestamp, 40, last)
    return last
  }
}
