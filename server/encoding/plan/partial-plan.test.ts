import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countSegments, makeGrid, segmentOf } from '../../media/grid.ts'
import { ladderOf } from '../../media/ladder.ts'
import type { EncodingPlan } from '../tables.ts'
import { continues, cutPlan } from './partial-plan.ts'

const rate = { num: 25, den: 1 }

const planOf = (seconds: number): EncodingPlan => ({
  key: 'source',
  offsetSeconds: 0,
  ...makeGrid(rate, seconds),
  rungs: ladderOf({ width: 640, height: 360 }, rate),
  hasSound: true,
  isWatermarked: false,
})

const keyFrames = Array.from({ length: 15 }, (_, i) => 100 * i)
const copied: EncodingPlan = { ...planOf(60), starts: keyFrames, copiesVideo: true }

test('what has arrived is cut to segments that the complete plan has, too', () => {
  const plan = planOf(60)
  let longest = 0
  for (let arrived = 0; arrived <= 70; arrived += 0.3) {
    const cut = cutPlan(plan, arrived, true)
    if (!cut) continue
    const count = countSegments(cut)
    assert.ok(cut.frames / 25 <= arrived - 2, `${cut.frames} frames of ${arrived} s`)
    assert.ok(count >= longest && count < countSegments(plan))
    for (let i = 0; i < count; i++) assert.deepEqual(segmentOf(cut, i), segmentOf(plan, i))
    assert.ok(continues(cut, plan))
    longest = count
  }
  assert.equal(longest, countSegments(plan) - 1)
  assert.equal(cutPlan(plan, 3, true), undefined)
})

test('at key frames of a source without an end, the choice of the last ones is not final', () => {
  const isCut = (hasEnd: boolean) => cutPlan(copied, 31, hasEnd)!.starts!.length
  assert.deepEqual([isCut(true), isCut(false)], [7, 5])
})

test('a plan continues a shorter one of the same frames, and no other', () => {
  const partial = cutPlan(planOf(60), 30, true)!
  assert.ok(continues(partial, { ...planOf(300), key: 'copy', sourceBytes: 5 }))
  assert.ok(continues(partial, { ...planOf(300), offsetSeconds: 1e-6 }))
  assert.ok(!continues(partial, { ...planOf(300), offsetSeconds: 0.04 }))
  assert.ok(!continues(partial, { ...planOf(300), hasSound: false }))
  assert.ok(!continues(partial, { ...planOf(300), isWatermarked: true }))
  assert.ok(!continues(partial, { ...planOf(300), ...makeGrid({ num: 30, den: 1 }, 300) }))
  assert.ok(!continues(partial, { ...planOf(300), rungs: ladderOf({ width: 640, height: 480 }, rate) }))
  assert.ok(!continues(partial, planOf(20)))
  assert.ok(!continues(partial, { ...planOf(60), starts: keyFrames, copiesVideo: true }))
})

test('a copied quality is continued if its segments begin at the same key frames', () => {
  const partial = cutPlan(copied, 31, true)!
  const rungs = copied.rungs.map((rung) => ({ ...rung, maxKbps: rung.maxKbps + 10 }))
  assert.ok(continues(partial, { ...copied, rungs: [copied.rungs[0]!, rungs[1]!], hasGaps: true }))
  assert.ok(!continues(partial, { ...copied, rungs }))
  assert.ok(!continues(partial, { ...copied, starts: keyFrames.filter((start) => start !== 300) }))
})

test('a plan of the complete source has at least one more segment', () => {
  const partial = cutPlan(planOf(60), 30, true)!
  const same = { ...planOf(60), frames: partial.frames }
  assert.ok(!continues(partial, same))
  assert.ok(continues(partial, { ...same, partial: {} as EncodingPlan['partial'] & object }))
})
