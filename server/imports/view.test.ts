import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Run, RunTotals } from './run-store.ts'
import { viewImport } from './view.ts'

const totals: RunTotals = {
  states: { waiting: 10 },
  ...{ videos: 10, measured: 10, seconds: 1_000, bytes: 1_000_000, receivedBytes: 0 },
  left: { seconds: 1_000, bytes: 1_000_000 },
}

function estimate(run: Partial<Run>, speed: number | null) {
  const time = new Date()
  const shown = {
    ...{ id: 'import_1', options: { keepIds: true, include: [] }, bandwidth: null, fetch_speed: null },
    ...{ concurrency: 2, listed_at: time, created_at: time, updated_at: time, ended_at: null, failure: null },
  }
  return viewImport({ ...shown, ...run } as Run, totals, { free: null, speed }).estimatedSeconds
}

test('an import takes as long as the slower of encoding and fetching', () => {
  assert.equal(estimate({}, 10), 100)
  assert.equal(estimate({ fetch_speed: 1_000 }, 10), 500)
  assert.equal(estimate({ fetch_speed: 1_000_000 }, 10), 100)
  assert.equal(estimate({ fetch_speed: 1_000_000, bandwidth: 1_000 }, 10), 1_000)
})

test('the time is not known while the list is read, or if nothing was encoded yet', () => {
  assert.equal(estimate({ listed_at: null }, 10), null)
  assert.equal(estimate({}, null), null)
})
