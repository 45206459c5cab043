import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findIndexAtEnd } from './index-at-end.ts'

function box(type: string, bodyBytes: number): Buffer {
  const bytes = Buffer.alloc(8 + bodyBytes)
  bytes.writeUInt32BE(bytes.length)
  bytes.write(type, 4, 'latin1')
  return bytes
}

function longBox(type: string, bodyBytes: number): Buffer {
  const bytes = Buffer.alloc(16 + bodyBytes)
  bytes.writeUInt32BE(1)
  bytes.write(type, 4, 'latin1')
  bytes.writeBigUInt64BE(BigInt(bytes.length), 8)
  return bytes
}

function find(...boxes: Buffer[]) {
  const file = Buffer.concat(boxes)
  const read = (async (target: Buffer, offset: number, length: number, position: number) => {
    const bytesRead = file.copy(target, offset, position, Math.min(file.length, position + length))
    return { buffer: target, bytesRead }
  }) as unknown as Parameters<typeof findIndexAtEnd>[0]['read']
  return findIndexAtEnd({ read }, file.length)
}

test('the index is found behind the samples, also of a file of more than 4 GiB', async () => {
  assert.deepEqual(await find(box('ftyp', 16), box('mdat', 100), box('moov', 50)), { from: 132, to: 189 })
  assert.deepEqual(await find(box('wide', 0), longBox('mdat', 100), box('moov', 50), box('free', 9)), {
    from: 124,
    to: 181,
  })
})

test('other files have no index behind their samples', async () => {
  const others = [
    [box('ftyp', 16), box('moov', 50), box('mdat', 100)],
    [box('ftyp', 16), box('moov', 50), box('moof', 20), box('mdat', 100)],
    [box('ftyp', 16), box('mdat', 100)],
    [box('ftyp', 16), box('mdat', 100), box('moov', 50).subarray(0, 20)],
    [box('ftyp', 16), box('mdat', 100), Buffer.alloc(20, 1)],
    [box('ftyp', 16), Buffer.from([0, 0, 0, 0]), Buffer.from('mdat'), box('moov', 50)],
    [box('ftyp', 16), ...Array.from({ length: 200 }, () => box('mdat', 0)), box('moov', 50)],
    [Buffer.from('1a45dfa3a34286810142f7810142f2810442f381', 'hex')],
    [Buffer.from('FLV')],
  ]
  for (const boxes of others) assert.equal(await find(...boxes), undefined)
})
