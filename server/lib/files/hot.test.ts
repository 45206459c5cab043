import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HotFiles } from './hot.ts'

/** Files of so many bytes as their key says; tells which were read. */
function files(most: number) {
  const reads: string[] = []
  const read = async (key: string, size: number) => {
    reads.push(key)
    if (key === 'broken') throw new Error('broken')
    return key === 'short' ? undefined : Buffer.alloc(size, key)
  }
  return { hot: new HotFiles(read, most), reads }
}

test('a file is read once for all who ask for it, at once or later', async () => {
  const { hot, reads } = files(100)
  const together = await Promise.all([hot.hold('a', 10), hot.hold('a', 10)])
  for (const held of together) held?.release()
  const later = await hot.hold('a', 10)
  assert.equal(later?.bytes.toString(), 'aaaaaaaaaa')
  assert.equal(new Set([...together, later].map((held) => held?.bytes)).size, 1)
  assert.deepEqual(reads, ['a'])
})

test('there are never more bytes than allowed, and what is held is not dropped', async () => {
  const { hot, reads } = files(30)
  const a = await hot.hold('a', 10)
  const b = await hot.hold('b', 10)
  await hot.hold('c', 10)
  assert.equal(await hot.hold('d', 10), undefined, 'all are held')
  assert.equal(await hot.hold('e', 31), undefined, 'larger than all the room')
  b?.release()
  const d = await hot.hold('d', 10)
  assert.ok(d)
  a?.release()
  d.release()
  // The one that was not asked for the longest goes first.
  await hot.hold('f', 10)
  await hot.hold('d', 10)
  assert.deepEqual(reads, ['a', 'b', 'c', 'd', 'f'])
})

test('what is short or cannot be read takes no room and is read again', async () => {
  const { hot, reads } = files(10)
  for (let i = 0; i < 3; i++) {
    assert.deepEqual(await Promise.all([hot.hold('short', 10), hot.hold('short', 10)]), [
      undefined,
      undefined,
    ])
    await assert.rejects(hot.hold('broken', 10), /broken/)
  }
  assert.deepEqual(reads, ['short', 'broken', 'short', 'broken', 'short', 'broken'])
  const a = await hot.hold('a', 10)
  assert.equal(a?.bytes.length, 10)
  assert.equal(await hot.hold('a', 9), undefined, 'of another size')
})
