import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runChaos } from '../../chaos/run.ts'
import { lacksNftables } from '../../machines/links.ts'
import { lacksMachines } from '../../machines/requirements.ts'

const seed = 1
const maxFaults = 8

test(`nothing is lost when faults hit an installation under load (seed ${seed})`, {
  skip: lacksMachines || lacksNftables,
}, async () => {
  const log: string[] = []
  const { faults, problems } = await runChaos({
    seed,
    minutes: 60,
    maxFaults,
    load: { uploads: 1, liveStreams: 1, viewers: 1 },
    log: (text) => log.push(text),
  })
  assert.deepEqual(problems, [], log.join('\n'))
  assert.equal(
    faults.reduce((sum, { times }) => sum + times, 0),
    maxFaults,
  )
})
