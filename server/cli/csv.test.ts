import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseCsv } from './csv.ts'

test('fields may be quoted, and contain commas, quotes and lines', () => {
  assert.deepEqual(parseCsv('a,b\r\n"1, ""x""","two\nlines"\n\n,3'), [
    ['a', 'b'],
    ['1, "x"', 'two\nlines'],
    ['', '3'],
  ])
  assert.deepEqual(parseCsv('\uFEFFurl,title,\n1,2,'), [
    ['url', 'title', ''],
    ['1', '2', ''],
  ])
  assert.deepEqual(parseCsv(''), [])
})

test('quotes that are not closed are an error', () => {
  assert.throws(() => parseCsv('a\n"b'), /not closed/)
  assert.throws(() => parseCsv('a\nb"c"d'), /not closed/)
})
