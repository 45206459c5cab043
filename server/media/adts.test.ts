import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readAdts } from './adts.ts'
import { cutAudio } from './audio.ts'

test('ADTS is read with and without checksum, and invalid data is rejected', () => {
  const plain = Buffer.from([0xff, 0xf1, 0x4c, 0x80, 0x01, 0x3f, 0xfc, 1, 2])
  const checked = Buffer.from([0xff, 0xf0, 0x4c, 0x80, 0x01, 0x7f, 0xfc, 9, 9, 3, 4])
  const { config, frames } = readAdts(Buffer.concat([plain, checked]))
  assert.deepEqual(config, Buffer.from([0x11, 0x90]))
  assert.deepEqual(frames, [Buffer.from([1, 2]), Buffer.from([3, 4])])
  assert.throws(() => readAdts(Buffer.alloc(0)), /no frames/)
  assert.throws(() => readAdts(Buffer.from('ID3 something')), /no sync word at byte 0/)
  assert.throws(() => readAdts(Buffer.concat([plain, plain.subarray(0, 5)])), /half a header at byte 9/)
  assert.throws(() => readAdts(plain.subarray(0, 8)), /half a frame/)
  const mono = Buffer.from(plain)
  mono[3] = 0x40
  assert.throws(() => readAdts(Buffer.concat([plain, mono])), /another configuration at byte 9/)
  const chunk = { fromFrame: 5, leadingFrames: 1 }
  assert.throws(
    () => cutAudio(Buffer.concat([plain, checked]), chunk, [{ fromFrame: 5, frames: 2 }]),
    /has 2/,
  )
})
