import assert from 'node:assert/strict'
import { test } from 'node:test'
import { noteServerTime, now } from './clock.ts'

const respond = (date?: string, requestedAt = Date.now()) =>
  noteServerTime({ headers: new Headers(date ? { date } : {}) }, requestedAt)

test('times are those of the server, whatever the clock of the browser says', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.parse('2026-03-02T12:00:00.400Z') })
  respond('Mon, 02 Mar 2026 11:59:59 GMT')
  assert.equal(now(), Date.now())
  respond('Mon, 02 Mar 2026 11:58:30 GMT', Date.parse('2026-03-02T11:58:00Z'))
  assert.equal(now(), Date.now(), 'the time that a response takes is no difference')
  respond('Sun, 01 Mar 2026 12:00:00 GMT')
  assert.equal(new Date(now()).toISOString(), '2026-03-01T12:00:00.000Z')
  for (const date of [undefined, 'yesterday']) respond(date)
  assert.equal(new Date(now()).toISOString(), '2026-03-01T12:00:00.000Z')
  // Somebody sets the clock.
  t.mock.timers.setTime(Date.parse('2026-03-01T12:05:00Z'))
  respond('Sun, 01 Mar 2026 12:05:00 GMT')
  assert.equal(now(), Date.now())
})
