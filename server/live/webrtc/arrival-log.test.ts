import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ArrivalLog } from './arrival-log.ts'

const ms = 1_000

test('packets are reported once, across the wrap of their numbers, with those that are missing', () => {
  const log = new ArrivalLog()
  log.add(65_535, 10 * ms)
  log.add(1, 20 * ms)
  const reports = log.take(100 * ms)
  assert.deepEqual(
    reports.map(({ times }) => times),
    [[10 * ms, undefined, 20 * ms]],
  )
  assert.equal(reports[0]!.first & 0xffff, 65_535)
  log.add(2, 110 * ms)
  log.add(0, 111 * ms)
  assert.deepEqual(
    log.take(120 * ms).map(({ times, count }) => [times, count]),
    [[[110 * ms], 1]],
  )
  assert.deepEqual(log.take(130 * ms), [])
})

test('a packet that may only be late is not reported as lost', () => {
  const log = new ArrivalLog()
  for (const number of [1, 3, 4]) log.add(number, 10 * ms)
  assert.deepEqual(
    log.take(20 * ms).map(({ times }) => times),
    [[10 * ms]],
  )
  log.add(2, 30 * ms)
  assert.deepEqual(
    log.take(40 * ms).map(({ times }) => times),
    [[30 * ms, 10 * ms, 10 * ms]],
  )
})

test('a sender whose numbers jump with each packet causes few reports', () => {
  const log = new ArrivalLog()
  for (let i = 0; i < 5_000; i++) log.add((i * 30_000) & 0xffff, i)
  assert.ok(log.take(10_000 * ms).length <= 5)
})
