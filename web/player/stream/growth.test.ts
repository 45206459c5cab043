import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Growth } from './growth.ts'

const names = ['240p', '360p', '480p', '720p']

const choose = (seconds: number[], position: number, { wanted = 3, current = 3 } = {}) => {
  const encoded = Object.fromEntries(names.map((name, index) => [name, seconds[index]!]))
  return new Growth(encoded, 60).choose(names, { wanted, current, position })
}

test('a quality that is not encoded far enough is replaced by the next lower one', () => {
  assert.equal(choose([40, 10, 10, 10], 0), 3)
  assert.equal(choose([40, 20, 10, 10], 10), 1)
  assert.equal(choose([40, 20, 10, 10], 20), 0)
  // The end of the buffer is not exactly that of the segment.
  assert.equal(choose([40, 10, 10, 10], 9.96), 0)
})

test('without a lower quality, the next higher one is played', () => {
  assert.equal(choose([30, 10, 10, 60], 30, { wanted: 1 }), 3)
  assert.equal(choose([30, 10, 10, 60], 59, { wanted: 0 }), 3)
})

test('where nothing is encoded yet, the quality that is ahead is played', () => {
  assert.equal(choose([14, 10, 10, 10], 14), 0)
  assert.equal(choose([10, 10, 10, 10], 10), 0)
  assert.equal(choose([2, 0, 0, 0], 0, { current: -1 }), 0)
})

test('a higher quality is played only if it is encoded some seconds ahead, or to the end', () => {
  assert.equal(choose([40, 40, 40, 14], 10, { current: 0 }), 2)
  assert.equal(choose([40, 40, 40, 18], 10, { current: 0 }), 3)
  assert.equal(choose([40, 40, 40, 14], 10, { current: 3 }), 3)
  assert.equal(choose([40, 40, 40, 60], 58, { current: 0 }), 3)
})

test('a loaded playlist may be newer, and a failed quality is never played', () => {
  const growth = new Growth({ '240p': 10, '360p': 2 }, 60)
  const at = (position: number) => growth.choose(names.slice(0, 2), { wanted: 1, current: 1, position })
  growth.note('360p', 14)
  growth.update({ '240p': 10, '360p': 10 })
  assert.equal(at(12), 1)
  growth.update({ '240p': 18 })
  assert.equal(at(0), 0)
  growth.update(null)
  assert.equal(growth.isGrowing, false)
  assert.equal(at(0), 0)
  assert.equal(new Growth(null, 60).choose(names, { wanted: 2, current: -1, position: 0 }), 2)
})

test('the playable part ends with the longest quality, or with the audio', () => {
  assert.equal(new Growth({ '240p': 30, '360p': 10, sound: 34 }, 60).playableSeconds, 30)
  assert.equal(new Growth({ '240p': 30, '720p': 60, sound: 34 }, 60).playableSeconds, 34)
  assert.equal(new Growth({ '240p': 30, '720p': 60, sound: 60 }, 60).playableSeconds, 60)
  assert.equal(new Growth({ '240p': 30, '720p': 10 }, 60).playableSeconds, 30)
})
