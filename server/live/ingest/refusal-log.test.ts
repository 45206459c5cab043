import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { RefusalLog } from './refusal-log.ts'

test('the first refusal is logged at once, and those of the next second in one line', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const lines: { reason: string; connections?: number }[] = []
  const log = pino({ base: null, timestamp: false }, { write: (line) => void lines.push(JSON.parse(line)) })
  const refusals = new RefusalLog(log)
  const taken = () => lines.splice(0).map(({ reason, connections }) => [reason, connections])
  refusals.add('a')
  assert.deepEqual(taken(), [['a', undefined]])
  for (let i = 0; i < 1_000; i++) refusals.add('b')
  assert.deepEqual(taken(), [])
  t.mock.timers.tick(1_000)
  assert.deepEqual(taken(), [['b', 1_000]])
  refusals.add('c')
  t.mock.timers.tick(1_000)
  assert.deepEqual(taken(), [['c', undefined]])
  t.mock.timers.tick(1_000)
  refusals.add('d')
  assert.deepEqual(taken(), [['d', undefined]])
})
