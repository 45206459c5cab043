import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { LadderBudget } from './budget.ts'
import { DecodeTimes } from './decode-times.ts'
import { coresOf, liveRungs, rungsWithin } from './rungs.ts'

const hd = { width: 1280, height: 720 }
const namesOf = (rungs: { quality: string }[]) => rungs.map(({ quality }) => quality)

test('the encoded qualities are below the size of the source and at most 1080p', () => {
  const cases: [number, number, string[]][] = [
    [1280, 720, ['240p', '360p', '480p']],
    [720, 1280, ['240p', '360p', '480p']],
    [1281, 721, ['240p', '360p', '480p', '720p']],
    [3840, 2160, ['240p', '360p', '480p', '720p', '1080p']],
    [426, 240, []],
    [160, 120, []],
  ]
  for (const [width, height, expected] of cases)
    assert.deepEqual(namesOf(liveRungs({ width, height }, 30, false)), expected, `${width} x ${height}`)
})

test('the size of the source is the top, without odd lines and columns', () => {
  const { quality, width, height } = liveRungs({ width: 1281, height: 721 }, 30, true).at(-1)!
  assert.deepEqual({ quality, width, height }, { quality: 'top', width: 1280, height: 720 })
})

test('a ladder has as many of the lower qualities as the cores allow', () => {
  const rungs = liveRungs(hd, 30, true)
  const within = (cores: number) => namesOf(rungsWithin(cores, hd, rungs, 30))
  assert.deepEqual(within(coresOf(hd, rungs, 30)), ['240p', '360p', '480p', 'top'])
  assert.deepEqual(within(0.6), ['240p', '360p', '480p'])
  assert.deepEqual(within(0.35), ['240p'])
  assert.deepEqual(within(0), [])
})

test('broadcasts share the cores', () => {
  const budget = new LadderBudget(2)
  const [first, second] = [{}, {}]
  budget.reserve(first, 0.5)
  assert.equal(budget.availableFor(second), 1.2)
  assert.equal(budget.availableFor(first), 1.7)
  budget.reserve(first, 2.5)
  assert.equal(budget.availableFor(second), 0)
  budget.release(first)
  assert.equal(budget.availableFor(second), 1.7)
})

test('encoded frames get the decode times of the source, also with frames left out', () => {
  // In the order of decoding: I0 P3 B1 B2 I4.
  const shown = [80, 200, 120, 160, 240]
  const times = new DecodeTimes()
  for (const [i, shownMs] of shown.entries()) times.add(40 * i, shownMs, i % 4 === 0)
  assert.deepEqual(
    [80, 120, 200, 240].map((shownMs) => times.take(shownMs)),
    [0, 40, 120, 160],
  )
  assert.equal(times.length, 0)
  assert.equal(times.take(300), undefined)
})

test('key frames of open groups of pictures keep their decode times', () => {
  // In the order of decoding: I0 P1 I4 B2 B3 P5. The frames B2 and B3 are shown before I4.
  const shown = [80, 120, 240, 160, 200, 280]
  const times = new DecodeTimes()
  for (const [i, shownMs] of shown.entries()) times.add(40 * i, shownMs, i % 2 === 0 && i < 4)
  assert.deepEqual(
    [80, 120, 160, 200, 240, 280].map((shownMs) => times.take(shownMs)),
    [0, 40, 41, 42, 80, 200],
  )
})

test('decode times do not decrease, whatever the source and the encoder do', () => {
  const frame = fc.tuple(fc.nat(50), fc.integer({ min: -200, max: 200 }), fc.boolean())
  const wanted = fc.array(fc.integer({ min: -300, max: 3_000 }), { maxLength: 60 })
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 50 }), wanted, (given, shown) => {
      const times = new DecodeTimes()
      let decodeMs = 0
      for (const [step, offset, isKeyFrame] of given) {
        decodeMs += 1 + step
        times.add(decodeMs, decodeMs + offset, isKeyFrame)
      }
      const taken = shown.map((each) => times.take(each)).filter((each) => each !== undefined)
      for (const [i, each] of taken.entries()) assert.ok(i === 0 || each >= taken[i - 1]!)
      assert.ok(taken.length + times.length <= given.length)
    }),
  )
})
