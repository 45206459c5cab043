import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runChaos } from '../../chaos/run.ts'
import { lacksNftables } from '../../machines/links.ts'
import { lacksMachines } from '../../machines/requirements.ts'

const skip = lacksMachines || lacksNftables

test('an installation of several machines loses nothing and leaves nothing after a few faults', {
  skip,
}, async () => {
  const { faults, problems, summary } = await runChaos({
    seed: 1,
    minutes: 10,
    maxFaults: 8,
    load: { uploads: 1, liveStreams: 1, viewers: 1 },
    log() {},
  })
  const total = faults.reduce((sum, { times }) => sum + times, 0)
  assert.deepEqual({ total, problems }, { total: 8, problems: [] })
  assert.ok(summary['acknowledged videos']! > 0)
  assert.ok(summary['frames sent']! > 0)
})
