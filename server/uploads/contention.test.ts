import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createContention } from './contention.ts'

const turn = () => new Promise((done) => setImmediate(done))

test('one piece of work at a time for each source, and few in all', async () => {
  const { exclusively } = createContention()
  let running = 0
  let most = 0
  const bySource = new Map<string, number>()
  const work = async (source: string) => {
    most = Math.max(most, ++running)
    bySource.set(source, (bySource.get(source) ?? 0) + 1)
    assert.equal(bySource.get(source), 1)
    await turn()
    bySource.set(source, 0)
    running--
  }
  const jobs = Array.from({ length: 300 }, (_, i) => `v${i % 30}`)
  await Promise.all(jobs.map((source) => exclusively(source, () => work(source))))
  assert.equal(most, 8)
})

test('work that fails makes room for the next', async () => {
  const { exclusively } = createContention()
  const failing = exclusively('v', async () => {
    throw new Error('no')
  })
  const next = exclusively('v', async () => 'yes')
  await assert.rejects(failing)
  assert.equal(await next, 'yes')
})

test('whoever is one too many is told so, until somebody leaves', () => {
  const { enter } = createContention()
  const [one, two] = [enter('piece', 2), enter('piece', 2)]
  assert.ok(one && two)
  assert.equal(enter('piece', 2), undefined)
  assert.ok(enter('other', 2))
  one.leave()
  assert.ok(enter('piece', 2))
})

test('whoever leaves wakes those who wait, also those who have not begun to', async () => {
  const { enter } = createContention()
  const [writer, waiter] = [enter('piece', 2)!, enter('piece', 2)!]
  const wait = waiter.listen()
  writer.leave()
  // Far longer than the test may take: the wait ends by the wake signal, or the test does not.
  await wait(2 ** 30)
})
