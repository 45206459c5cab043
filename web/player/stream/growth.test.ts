import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Growth } from './growth.ts'

const names = ['240p', '360p', '480p', '720p']

const growthOf = (encodedSeconds: Record<string, number> | null, isUploading = false) =>
  new Growth({ encodedSeconds, durationSeconds: 60, isUploading })

const choose = (seconds: number[], position: number, { wanted = 3, current = 3 } = {}) => {
  const encoded = Object.fromEntries(names.map((name, index) => [name, seconds[index]!]))
  return growthOf(encoded).choose(names, { wanted, current, position })
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
  const complete = { durationSeconds: 60, isUploading: false }
  const growth = growthOf({ '240p': 10, '360p': 2 })
  const at = (position: number) => growth.choose(names.slice(0, 2), { wanted: 1, current: 1, position })
  growth.note('360p', 14, false)
  growth.update({ ...complete, encodedSeconds: { '240p': 10, '360p': 10 } })
  assert.equal(at(12), 1)
  growth.update({ ...complete, encodedSeconds: { '240p': 18 } })
  assert.equal(at(0), 0)
  growth.update({ ...complete, encodedSeconds: null })
  assert.equal(growth.isGrowing, false)
  assert.equal(at(0), 0)
  assert.equal(growthOf(null).choose(names, { wanted: 2, current: -1, position: 0 }), 2)
})

test('the playable part ends with the longest quality, or with the audio', () => {
  assert.equal(growthOf({ '240p': 30, '360p': 10, sound: 34 }).playableSeconds, 30)
  assert.equal(growthOf({ '240p': 30, '720p': 60, sound: 34 }).playableSeconds, 34)
  assert.equal(growthOf({ '240p': 30, '720p': 60, sound: 60 }).playableSeconds, 60)
  assert.equal(growthOf({ '240p': 30, '720p': 10 }).playableSeconds, 30)
})

test('while the file is uploaded, nothing ends before the last byte has arrived', () => {
  const growth = growthOf({ '240p': 60, '360p': 30 }, true)
  assert.equal(growth.playableSeconds, 60)
  assert.equal(growth.secondsOf('240p'), 60)
  growth.note('240p', 64, false)
  assert.equal(growth.playableSeconds, 64)
  growth.update({ encodedSeconds: { '240p': 66, '360p': 60 }, durationSeconds: 70, isUploading: false })
  assert.equal(growth.playableSeconds, 66)
  growth.update({ encodedSeconds: null, durationSeconds: 70, isUploading: false })
  assert.deepEqual([growth.isGrowing, growth.playableSeconds], [false, 70])
})

test('a complete playlist tells the duration', () => {
  const growth = growthOf({ '240p': 60, sound: 60 }, true)
  growth.note('240p', 62, true)
  growth.note('sound', 62, true)
  assert.equal(growth.playableSeconds, 62)
})
