import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isInRanges, joinRanges, overlapsRanges, prefixOf } from './byte-ranges.ts'

test('ranges are sorted, and joined where they touch or overlap', () => {
  const ranges = [
    { from: 10, to: 20 },
    { from: 40, to: 50 },
    { from: 0, to: 10 },
    { from: 15, to: 25 },
    { from: 30, to: 30 },
  ]
  assert.deepEqual(joinRanges(ranges), [
    { from: 0, to: 25 },
    { from: 40, to: 50 },
  ])
  assert.deepEqual(joinRanges([]), [])
})

test('a range is in others only if one of them has all of it', () => {
  const ranges = [
    { from: 0, to: 10 },
    { from: 20, to: 30 },
  ]
  assert.ok(isInRanges(ranges, { from: 20, to: 30 }))
  assert.ok(!isInRanges(ranges, { from: 9, to: 11 }))
  assert.ok(!isInRanges(ranges, { from: 5, to: 25 }))
  assert.ok(overlapsRanges(ranges, { from: 9, to: 11 }))
  assert.ok(!overlapsRanges(ranges, { from: 10, to: 20 }))
})

test('bytes count from the start only without a gap', () => {
  assert.equal(prefixOf([{ from: 0, to: 10 }]), 10)
  assert.equal(prefixOf([{ from: 1, to: 10 }]), 0)
  assert.equal(prefixOf([]), 0)
})
