import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CueSettings, placeOf } from './cue-place.ts'

const place = (settings: Partial<CueSettings> = {}) =>
  placeOf({
    ...{
      line: 'auto',
      snapToLines: true,
      position: 'auto',
      positionAlign: 'auto',
      size: 100,
      align: 'center',
    },
    ...settings,
  })

test('a cue without settings is at the bottom in the middle', () => {
  assert.deepEqual(place(), { left: 0, width: 100, align: 'center', top: 100 })
})

test('lines are counted from the top, and negative ones from the bottom', () => {
  assert.equal(place({ line: 0 }).top, 0)
  assert.equal(place({ line: -1 }).top, 100)
  assert.equal(place({ line: 999 }).top, 100)
  assert.equal(place({ line: -999 }).top, 0)
  assert.equal(place({ line: 25, snapToLines: false }).top, 25)
})

test('position, alignment and size select a part of the width, which never leaves the video', () => {
  assert.deepEqual(place({ align: 'start', size: 40 }), { left: 0, width: 40, align: 'start', top: 100 })
  assert.deepEqual(place({ align: 'end', position: 80 }), { left: 0, width: 80, align: 'end', top: 100 })
  assert.equal(place({ position: 30, size: 100 }).width, 60)
  assert.equal(place({ position: 30, positionAlign: 'line-left', size: 100 }).left, 30)
  for (const position of [0, 50, 100, -20, 1e9, Number.NaN])
    for (const positionAlign of ['auto', 'line-left', 'center', 'line-right'] as const)
      for (const size of [0, 50, 100]) {
        const { left, width } = place({ position, positionAlign, size })
        assert.ok(left >= 0 && width >= 10 && left + width <= 100, `${position} ${positionAlign} ${size}`)
      }
})
