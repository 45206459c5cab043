import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BufferPool } from './buffer-pool.ts'

const mib = 1024 * 1024

test('a buffer has the requested size, and is used again while another one is in use', async () => {
  const pool = new BufferPool(8 * mib)
  const hold = Promise.withResolvers<void>()
  const held = pool.use(mib, () => hold.promise)
  const memories = new Set<ArrayBufferLike>()
  for (let i = 0; i < 10; i++)
    await pool.use(mib - i, async (buffer) => {
      assert.equal(buffer.length, mib - i)
      memories.add(buffer.buffer)
    })
  assert.equal(memories.size, 1)
  hold.resolve()
  await held
})

test('buffers that are in use at the same time never share memory, and never exceed the limit', async () => {
  const pool = new BufferPool(8 * mib)
  const used = new Map<ArrayBufferLike, number>()
  const sizes = [1, 3, 8, 2, 2, 5, 1, 7, 4, 4, 1, 6].map((each) => each * mib)
  let done = 0
  await Promise.all(
    [...sizes, ...sizes].map((size) =>
      pool.use(size, async ({ buffer, length }) => {
        assert.ok(!used.has(buffer), 'the memory is in use')
        used.set(buffer, length)
        assert.ok(used.values().reduce((sum, each) => sum + each, 0) <= 8 * mib)
        await new Promise(setImmediate)
        used.delete(buffer)
        done++
      }),
    ),
  )
  assert.equal(done, 2 * sizes.length)
})

test('buffers that are not in use are given up for one that would exceed the limit with them', async () => {
  const pool = new BufferPool(8 * mib)
  const memoryOf = (size: number) => pool.use(size, async ({ buffer }) => buffer)
  const hold = Promise.withResolvers<void>()
  const held = pool.use(mib, () => hold.promise)
  const [small] = await Promise.all([memoryOf(3 * mib), memoryOf(3 * mib)])
  assert.equal((await memoryOf(mib)).byteLength, 3 * mib)
  const large = await memoryOf(7 * mib)
  assert.notEqual(large, small)
  assert.equal(await memoryOf(mib), large)
  hold.resolve()
  await held
})

test('a buffer above the limit is used alone, and a failure frees its buffer', async () => {
  const pool = new BufferPool(mib)
  const events: string[] = []
  const large = pool.use(3 * mib, async ({ length }) => {
    events.push(`large ${length / mib}`)
    await new Promise(setImmediate)
    events.push('end')
    throw new Error('failed')
  })
  const small = pool.use(10, async () => void events.push('small'))
  await assert.rejects(large, /failed/)
  await small
  assert.deepEqual(events, ['large 3', 'end', 'small'])
})
