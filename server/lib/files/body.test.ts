import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { type Batch, inBatches } from './body.ts'

async function* cut(content: Buffer, sizes: number[]): AsyncGenerator<Buffer> {
  for (let at = 0, i = 0; at < content.length; i++) {
    const size = sizes[i % sizes.length]!
    yield content.subarray(at, at + size)
    at += size
  }
}

async function batchesOf(content: Buffer, sizes: number[], bytes: number): Promise<Batch[]> {
  const batches: Batch[] = []
  for await (const batch of inBatches(cut(content, sizes), bytes)) batches.push(batch)
  return batches
}

test('batches contain the bytes of the body in order, whatever the sizes of its buffers are', async () => {
  const content = randomBytes(50_001)
  for (const sizes of [[1], [7, 5_000], [4_096, 4_097, 1], [70_000, 3, 100, 65_536], [50_001]]) {
    const batches = await batchesOf(content, sizes, 20_000)
    assert.deepEqual(
      batches.map(({ size }) => size),
      [20_000, 20_000, 10_001],
    )
    assert.ok(Buffer.concat(batches.flatMap(({ buffers }) => buffers)).equals(content), String(sizes))
  }
})

test('a body of single bytes takes few buffers', async () => {
  const batches = await batchesOf(randomBytes(50_000), [1], 1024 * 1024)
  const buffers = batches.flatMap((batch) => batch.buffers)
  assert.ok(buffers.length <= 10, `${buffers.length} buffers`)
  // The blocks must not be mostly unused.
  const kept = new Set(buffers.map(({ buffer }) => buffer))
  const memory = [...kept].reduce((sum, { byteLength }) => sum + byteLength, 0)
  assert.ok(memory < 150_000, `${memory} bytes`)
})
