import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AnnexBReader } from './annex-b.ts'

const code = [0, 0, 1]
const parameterSets = [...code, 0x67, 0x42, 0, 30, 0x80, 0x80, ...code, 0x68, 0x80, 0x80]

test('parameter sets become a configuration, and the other units an access unit', () => {
  const reader = new AnnexBReader()
  const unit = reader.read(Buffer.from([...parameterSets, ...code, 0x65, 1, 2, 0]), 5)
  assert.equal(unit?.isKeyFrame, true)
  assert.deepEqual([...unit.bytes.subarray(5)], [0, 0, 0, 3, 0x65, 1, 2])
  assert.deepEqual([...reader.takeRecord()!.subarray(0, 6)], [1, 0x42, 0, 30, 0xff, 0xe1])
  assert.equal(reader.takeRecord(), undefined)
})

test('a unit for each byte, and huge parameter sets, take no memory', () => {
  const reader = new AnnexBReader()
  const many = Buffer.concat(Array.from({ length: 10_000 }, () => Buffer.from([...code, 0x41])))
  assert.equal(reader.read(many, 5), undefined)
  const huge = Buffer.concat([Buffer.from(parameterSets), Buffer.alloc(100_000, 1)])
  reader.read(huge, 5)
  assert.equal(reader.takeRecord(), undefined)
})
