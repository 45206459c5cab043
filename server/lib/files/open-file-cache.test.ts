import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OpenFileCache } from './open-file-cache.ts'

/** A cache, with lists of the keys that were opened and closed. */
function files(maxWeight: number) {
  const [opened, closed]: [string[], string[]] = [[], []]
  const open = async (key: string, size: number) => {
    opened.push(key)
    if (key === 'broken') throw new Error('broken')
    return key === 'short' ? undefined : Buffer.alloc(size, key)
  }
  const close = (value: Buffer) => closed.push(value.toString('latin1', 0, 1))
  return { cache: new OpenFileCache({ open, close, weightOf: (size) => size, maxWeight }), opened, closed }
}

/** A file is closed after the promise of its opening, which has resolved. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

test('a file is opened once for concurrent and later callers', async () => {
  const { cache, opened } = files(100)
  const together = await Promise.all([cache.acquire('a', 10), cache.acquire('a', 10)])
  for (const acquired of together) acquired?.release()
  const later = await cache.acquire('a', 10)
  assert.equal(later?.value.toString(), 'aaaaaaaaaa')
  assert.equal(new Set([...together, later].map((acquired) => acquired?.value)).size, 1)
  assert.deepEqual(opened, ['a'])
})

test('the weight never exceeds the limit, and files in use are not closed', async () => {
  const { cache, opened, closed } = files(30)
  const a = await cache.acquire('a', 10)
  const b = await cache.acquire('b', 10)
  await cache.acquire('c', 10)
  assert.equal(await cache.acquire('d', 10), undefined, 'all are in use')
  assert.equal(await cache.acquire('e', 31), undefined, 'larger than the limit')
  b?.release()
  const d = await cache.acquire('d', 10)
  assert.ok(d)
  a?.release()
  d.release()
  // The least recently used file is closed first.
  await cache.acquire('f', 10)
  await cache.acquire('d', 10)
  assert.deepEqual(opened, ['a', 'b', 'c', 'd', 'f'])
  await settled()
  assert.deepEqual(closed, ['b', 'a'])
})

test('unused files are closed after a while, and files in use are not', async () => {
  const { cache, opened, closed } = files(30)
  await cache.acquire('a', 10)
  const b = await cache.acquire('b', 10)
  b?.release()
  cache.sweep()
  await settled()
  assert.deepEqual(closed, [], 'it was used since the last sweep')
  cache.sweep()
  await settled()
  assert.deepEqual(closed, ['b'])
  await cache.acquire('a', 10)
  await cache.acquire('b', 10)
  assert.deepEqual(opened, ['a', 'b', 'b'])
  cache.close()
  await settled()
  assert.deepEqual(closed, ['b', 'a', 'b'])
})

test('a file in constant use is opened again after a while', async () => {
  const { cache, opened } = files(30)
  for (let i = 0; i < 12; i++) {
    const acquired = await cache.acquire('a', 10)
    acquired?.release()
    cache.sweep()
  }
  assert.deepEqual(opened, ['a', 'a'])
  cache.close()
})

test('a file that is too short or cannot be opened takes no room and is opened again', async () => {
  const { cache, opened } = files(10)
  for (let i = 0; i < 3; i++) {
    assert.deepEqual(await Promise.all([cache.acquire('short', 10), cache.acquire('short', 10)]), [
      undefined,
      undefined,
    ])
    await assert.rejects(cache.acquire('broken', 10), /broken/)
  }
  assert.deepEqual(opened, ['short', 'broken', 'short', 'broken', 'short', 'broken'])
  const a = await cache.acquire('a', 10)
  assert.equal(a?.value.length, 10)
  assert.equal(await cache.acquire('a', 9), undefined, 'of another size')
})
