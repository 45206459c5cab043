import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeCells, compare, readPrevious } from './change.ts'

const rows = [
  { name: 'fr', plays: 3 },
  { name: 'de', plays: 0 },
]
const read = (total: number) => readPrevious(rows, total, ({ name, plays }) => [name, plays])

test('a value is compared with that of the previous period', () => {
  assert.equal(compare(read(2), 'fr', 6), 1)
  assert.equal(compare(read(2), 'de', 6), 'new')
  assert.deepEqual(changeCells(read(2), 'fr', 1), [3, -0.6667])
  assert.deepEqual(changeCells(read(2), 'fr', null), [3, null])
})

test('what did not exist before is new, unless only a part of the previous values is known', () => {
  assert.equal(compare(read(2), 'at', 6), 'new')
  assert.equal(compare(read(3), 'at', 6), undefined)
  assert.deepEqual(changeCells(read(2), 'at', 6), [0, null])
  assert.deepEqual(changeCells(read(3), 'at', 6), [null, null])
})
