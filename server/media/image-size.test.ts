import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readImageSize } from './image-size.ts'

/** A PNG header with the given size. */
function png(width: number, height: number): Buffer {
  const bytes = Buffer.alloc(40)
  bytes.write('\x89PNG\r\n\x1a\n', 'latin1')
  bytes.writeUInt32BE(13, 8)
  bytes.write('IHDR', 12, 'latin1')
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return bytes
}

function jpeg(frame: number, width: number, height: number): Buffer {
  const start = Buffer.from([
    0xff,
    0xd8,
    0xff,
    0xe0,
    0,
    4,
    1,
    2,
    0xff,
    0xc4,
    0,
    3,
    9,
    0xff,
    0xff,
    frame,
    0,
    11,
    8,
  ])
  const size = Buffer.alloc(4)
  size.writeUInt16BE(height, 0)
  size.writeUInt16BE(width, 2)
  return Buffer.concat([start, size, Buffer.from([1, 1, 0x11, 0, 0xff, 0xd9])])
}

test('type and size are read from the bytes', () => {
  assert.deepEqual(readImageSize(png(200, 100)), { type: 'image/png', width: 200, height: 100 })
  for (const frame of [0xc0, 0xc1, 0xc2])
    assert.deepEqual(readImageSize(jpeg(frame, 640, 3)), { type: 'image/jpeg', width: 640, height: 3 })
})

test('other files and incomplete images have no size', () => {
  assert.equal(readImageSize(png(0, 100)), undefined)
  assert.equal(readImageSize(jpeg(0xc0, 0, 9)), undefined)
  for (const image of [png(20, 10), jpeg(0xc0, 20, 10)])
    for (let length = 0; length < 23; length++)
      assert.equal(readImageSize(image.subarray(0, length)), undefined, String(length))
  for (const bytes of [
    'GIF89a',
    '<svg xmlns="http://www.w3.org/2000/svg"/>',
    '\xff\xd8\xff\xe0\0\0\0\0\0\0\0\0\0',
  ])
    assert.equal(readImageSize(Buffer.from(bytes, 'latin1')), undefined)
  // A segment without a length, and a segment that extends past the end.
  assert.equal(readImageSize(Buffer.from('ffd8ffe00000ffc0000b080010001003', 'hex')), undefined)
  assert.equal(readImageSize(Buffer.from('ffd8ffe0ffffffc0000b080010001003', 'hex')), undefined)
})
