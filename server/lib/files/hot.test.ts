import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HotFiles } from './hot.ts'

/** Files of so many bytes as their key says; tells which were opened and closed. */
function files(mostWeight: number) {
  const [opened, closed]: [string[], string[]] = [[], []]
  const open = async (key: string, size: number) => {
    opened.push(key)
    if (key === 'broken') throw new Error('broken')
    return key === 'short' ? undefined : Buffer.alloc(size, key)
  }
  const close = (value: Buffer) => closed.push(value.toString('latin1', 0, 1))
  return { hot: new HotFiles({ open, close, weightOf: (size) => size, mostWeight }), opened, closed }
}

/** Closing waits for the opening, which is done. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

test('a file is opened once for all who ask for it, at once or later', async () => {
  const { hot, opened } = files(100)
  const together = await Promise.all([hot.hold('a', 10), hot.hold('a', 10)])
  for (const held of together) held?.release()
  const later = await hot.hold('a', 10)
  assert.equal(later?.value.toString(), 'aaaaaaaaaa')
  assert.equal(new Set([...together, later].map((held) => held?.value)).size, 1)
  assert.deepEqual(opened, ['a'])
})

test('there are never more than allowed, and what is held is not dropped', async () => {
  const { hot, opened, closed } = files(30)
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
  assert.deepEqual(opened, ['a', 'b', 'c', 'd', 'f'])
  await settled()
  assert.deepEqual(closed, ['b', 'a'])
})

test('what is not asked for is closed after a while, what is held is not', async () => {
  const { hot, opened, closed } = files(30)
  await hot.hold('a', 10)
  const b = await hot.hold('b', 10)
  b?.release()
  hot.sweep()
  await settled()
  assert.deepEqual(closed, [], 'it was asked for just now')
  hot.sweep()
  await settled()
  assert.deepEqual(closed, ['b'])
  await hot.hold('a', 10)
  await hot.hold('b', 10)
  assert.deepEqual(opened, ['a', 'b', 'b'])
  hot.close()
  await settled()
  assert.deepEqual(closed, ['b', 'a', 'b'])
})

test('what is asked for again and again is opened anew after a while', async () => {
  const { hot, opened } = files(30)
  for (let i = 0; i < 12; i++) {
    const held = await hot.hold('a', 10)
    held?.release()
    hot.sweep()
  }
  assert.deepEqual(opened, ['a', 'a'])
  hot.close()
})

test('what is short or cannot be opened takes no room and is opened again', async () => {
  const { hot, opened } = files(10)
  for (let i = 0; i < 3; i++) {
    assert.deepEqual(await Promise.all([hot.hold('short', 10), hot.hold('short', 10)]), [
      undefined,
      undefined,
    ])
    await assert.rejects(hot.hold('broken', 10), /broken/)
  }
  assert.deepEqual(opened, ['short', 'broken', 'short', 'broken', 'short', 'broken'])
  const a = await hot.hold('a', 10)
  assert.equal(a?.value.length, 10)
  assert.equal(await hot.hold('a', 9), undefined, 'of another size')
})
