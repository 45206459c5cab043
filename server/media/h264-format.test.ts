import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findUnplayable } from './h264-format.ts'

test('baseline, main and high with 8 bits and 4:2:0 are played by all devices', () => {
  for (const profile of [66, 77, 100])
    assert.equal(findUnplayable({ profile, chroma: 1, bitDepth: 8 }), undefined)
})

test('other chroma formats, bit depths and profiles are not', () => {
  assert.equal(findUnplayable({ profile: 244, chroma: 3, bitDepth: 8 }), 'H.264 with 4:4:4 chroma')
  assert.equal(findUnplayable({ profile: 122, chroma: 2, bitDepth: 10 }), 'H.264 with 4:2:2 chroma')
  assert.equal(findUnplayable({ profile: 100, chroma: 0, bitDepth: 8 }), 'H.264 with 4:0:0 chroma')
  assert.equal(findUnplayable({ profile: 110, chroma: 1, bitDepth: 10 }), 'H.264 with 10 bits')
  // Lossless.
  assert.equal(findUnplayable({ profile: 244, chroma: 1, bitDepth: 8 }), 'H.264 with profile 244')
  assert.equal(findUnplayable({ profile: 88, chroma: 1, bitDepth: 8 }), 'H.264 with profile 88')
})
