import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findIndexAtEnd } from './index-at-end.ts'

function box(type: string, bodyBytes: number, isLong = false): Uint8Array<ArrayBuffer> {
  const headBytes = isLong ? 16 : 8
  const bytes = new Uint8Array(headBytes + bodyBytes)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, isLong ? 1 : bytes.length)
  if (isLong) view.setBigUint64(8, BigInt(bytes.length))
  bytes.set(new TextEncoder().encode(type), 4)
  return bytes
}

const find = (...parts: BlobPart[]) => findIndexAtEnd(new Blob(parts))

test('the index is found behind the samples, also of a file of more than 4 GiB', async () => {
  assert.deepEqual(await find(box('ftyp', 16), box('mdat', 100), box('moov', 50)), { from: 132, to: 189 })
  const long = await find(box('wide', 0), box('mdat', 100, true), box('moov', 50), box('free', 9))
  assert.deepEqual(long, { from: 124, to: 181 })
})

test('other files have no index behind their samples', async () => {
  assert.equal(await find(box('ftyp', 16), box('moov', 50), box('mdat', 100)), undefined)
  assert.equal(await find(box('ftyp', 16), box('mdat', 100), box('moov', 50).subarray(0, 20)), undefined)
  assert.equal(await find(box('ftyp', 16), box('mdat', 100), new Uint8Array(20)), undefined)
  assert.equal(await find(new Uint8Array([0x1a, 0x45, 0xdf, 0xa3, 0xa3, 0x42, 0x86, 0x81])), undefined)
  assert.equal(await find('FLV'), undefined)
})
