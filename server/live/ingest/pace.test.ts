import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pace } from './pace.ts'

const minute = 60_000

/** A pace whose clock the test sets. */
function open({ elapsedMs = 0, reachedMs = 0, isUseless = () => false as boolean } = {}) {
  const time = { ms: 1_000_000 }
  const pace = new Pace({ elapsedMs, reachedMs, isUseless, clock: () => time.ms })
  return { pace, time }
}

test('a stream may be two minutes ahead of real time, and has to wait for the rest', async () => {
  const { pace, time } = open()
  pace.reach(2 * minute)
  assert.equal(pace.drain(), undefined)
  pace.reach(2 * minute + 1_010)
  const waited = pace.drain()
  assert.ok(waited)
  time.ms += 1_000
  await waited
  assert.equal(pace.isAhead, false)
})

test('what an encoder has buffered while it was disconnected is accepted immediately', () => {
  const { pace } = open({ elapsedMs: 70 * minute, reachedMs: 60 * minute })
  pace.reach(70 * minute)
  assert.equal(pace.drain(), undefined)
  assert.equal(pace.problem, undefined)
})

test('a connection gains nothing on the one before it', () => {
  const { pace } = open({ elapsedMs: 1 * minute, reachedMs: 4 * minute })
  assert.equal(pace.isAhead, true)
  assert.match(pace.problem!, /faster than real time/)
})

test('a clock that is a little fast is never too far ahead', () => {
  const { pace, time } = open()
  for (let i = 1; i <= 48 * 60; i++) {
    time.ms += minute
    pace.reach(i * minute * 1.005)
    assert.equal(pace.isAhead, false, `minute ${i}`)
  }
})

test('a clock of the database that was set back does not stop a broadcast', () => {
  const { pace, time } = open({ elapsedMs: 1 * minute, reachedMs: 60 * minute })
  pace.reach(61 * minute)
  assert.equal(pace.isAhead, false)
  pace.reach(64 * minute)
  assert.equal(pace.isAhead, true)
  time.ms += 2 * minute
  assert.equal(pace.isAhead, false)
})

test('a stream that begins anew all the time has to wait, too', () => {
  const { pace, time } = open()
  for (let i = 0; i < 480; i++) pace.start()
  assert.equal(pace.isAhead, false)
  pace.start()
  assert.equal(pace.isAhead, true)
  assert.equal(pace.reachedMs, 0)
  time.ms += 250
  assert.equal(pace.isAhead, false)
})

test('nobody waits for a connection that has ended', async () => {
  const { pace } = open({ isUseless: () => true })
  pace.reach(60 * minute)
  await pace.drain()
  assert.equal(pace.isAhead, true)
})
