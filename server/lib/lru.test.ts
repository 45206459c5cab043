import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Lru } from './lru.ts'

test('of more than it can hold, what was not asked for the longest is forgotten', () => {
  const lru = new Lru<string, number>(2)
  lru.set('a', 1)
  lru.set('b', 2)
  assert.equal(lru.get('a'), 1)
  lru.set('c', 3)
  assert.deepEqual([lru.get('a'), lru.get('b'), lru.get('c')], [1, undefined, 3])
  lru.set('a', 4)
  lru.set('d', 5)
  assert.deepEqual([lru.get('a'), lru.get('c'), lru.get('d')], [4, undefined, 5])
  lru.clear()
  assert.equal(lru.get('a'), undefined)
})
