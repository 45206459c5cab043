import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Run, RunTotals } from './run-store.ts'
import { TotalsCache } from './totals-cache.ts'

const updatedAt = new Date()
const run = (id: string, state: Run['state'] = 'running') =>
  ({ id, state, updated_at: updatedAt, listed_at: null, ended_at: null }) as Run

const totals = (videos: number): RunTotals => ({
  ...{ states: {}, videos, measured: 0, seconds: 0, bytes: 0, receivedBytes: 0 },
  left: { seconds: null, bytes: null },
})

type Count = (ids: string[]) => Promise<Map<string, RunTotals>>

/** The number of videos is the number of the count. */
function openCache(count?: Count) {
  const calls: string[][] = []
  const countCalls: Count = async (ids) => new Map(ids.map((id) => [id, totals(calls.length)]))
  const cache = new TotalsCache((ids) => {
    calls.push(ids)
    return (count ?? countCalls)(ids)
  })
  return { calls, cache }
}

test('requests at the same time share one count, and a page of runs takes one', async () => {
  const { calls, cache } = openCache()
  await Promise.all([cache.read([run('a'), run('b')]), cache.read([run('b'), run('a')])])
  await cache.read([run('a'), run('c')])
  assert.deepEqual(calls, [['a', 'b'], ['c']])
})

test('a run whose state has changed is counted again', async () => {
  const { calls, cache } = openCache()
  const [before] = await cache.read([run('a')])
  const [after] = await cache.read([run('a', 'completed')])
  assert.deepEqual([before?.videos, after?.videos, calls.length], [1, 2, 2])
})

test('an error is not kept', async () => {
  let isBroken = true
  const { cache } = openCache(async (ids) => {
    if (isBroken) throw new Error('the database is away')
    return new Map(ids.map((id) => [id, totals(5)]))
  })
  await assert.rejects(cache.read([run('a')]), /away/)
  isBroken = false
  assert.equal((await cache.read([run('a')]))[0]?.videos, 5)
})
