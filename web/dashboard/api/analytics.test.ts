import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadAll } from './analytics.ts'

const load = (itemsTotal: number) =>
  loadAll(async (currentPage) => {
    const first = (currentPage - 1) * 100
    const data = Array.from({ length: Math.min(100, itemsTotal - first) }, (_, i) => first + i)
    const pagesTotal = Math.ceil(itemsTotal / 100)
    return { data, pagination: { currentPage, pageSize: 100, pagesTotal, itemsTotal } }
  })

test('all pages are loaded in order', async () => {
  const { rows, total } = await load(250)
  assert.deepEqual(rows, [...Array(250).keys()])
  assert.equal(total, 250)
})

test('a list that is too long is cut, and its total tells', async () => {
  const { rows, total } = await load(6_000)
  assert.deepEqual([rows.length, rows.at(-1), total], [5_000, 4_999, 6_000])
})
