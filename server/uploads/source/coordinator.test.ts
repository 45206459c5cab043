import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createUploadCoordinator } from './coordinator.ts'

const turn = () => new Promise((done) => setImmediate(done))

test('one task at a time runs for each source, and few run in total', async () => {
  const { runExclusive } = createUploadCoordinator()
  let running = 0
  let maxRunning = 0
  const bySource = new Map<string, number>()
  const work = async (source: string) => {
    maxRunning = Math.max(maxRunning, ++running)
    bySource.set(source, (bySource.get(source) ?? 0) + 1)
    assert.equal(bySource.get(source), 1)
    await turn()
    bySource.set(source, 0)
    running--
  }
  const jobs = Array.from({ length: 300 }, (_, i) => `v${i % 30}`)
  await Promise.all(jobs.map((source) => runExclusive(source, () => work(source))))
  assert.equal(maxRunning, 8)
})

test('a failed task makes room for the next one', async () => {
  const { runExclusive } = createUploadCoordinator()
  const failing = runExclusive('v', async () => {
    throw new Error('no')
  })
  const next = runExclusive('v', async () => 'yes')
  await assert.rejects(failing)
  assert.equal(await next, 'yes')
})

test('a full group accepts no more members until one leaves', () => {
  const { join } = createUploadCoordinator()
  const [one, two] = [join('chunk', 2), join('chunk', 2)]
  assert.ok(one && two)
  assert.equal(join('chunk', 2), undefined)
  assert.ok(join('other', 2))
  one.leave()
  assert.ok(join('chunk', 2))
})

test('a member that leaves wakes the others, even if they do not wait yet', async () => {
  const { join } = createUploadCoordinator()
  const [writer, waiter] = [join('chunk', 2)!, join('chunk', 2)!]
  const wait = waiter.listen()
  writer.leave()
  // The timeout is far longer than the test, so only the wake signal can end the wait.
  await wait(2 ** 30)
})
