import assert from 'node:assert/strict'
import { test } from 'node:test'
import { placeOf } from './continents.ts'
import { dayOfSession, sessionIdOf, viewerOf } from './session-id.ts'
import { readUserAgent } from './user-agent.ts'

const secret = Buffer.from('a secret of tests')

test('a user agent gives device, operating system and browser', () => {
  const windows = readUserAgent(
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36',
  )
  assert.equal(windows.deviceType, 'computer')
  assert.deepEqual([windows.osName, windows.osVersion, windows.browserName], ['Windows', '10', 'Chrome'])
  const phone = readUserAgent(
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1',
  )
  assert.deepEqual([phone.deviceType, phone.deviceVendor, phone.deviceModel], ['phone', 'Apple', 'iPhone'])
  assert.deepEqual([phone.osName, phone.osVersion], ['iOS', '17.5'])
})

test('an empty or oversized user agent gives nothing', () => {
  for (const header of [undefined, '', 'x', '\0'.repeat(10), '('.repeat(100_000)]) {
    const agent = readUserAgent(header)
    assert.equal(agent.deviceType, null)
    for (const value of Object.values(agent)) assert.ok(value === null || value.length <= 100)
  }
})

test('a country has a continent; other header values are ignored', () => {
  assert.deepEqual(placeOf('fr'), { country: 'FR', continent: 'EU' })
  assert.deepEqual(placeOf('AU'), { country: 'AU', continent: 'AZ' })
  for (const header of [undefined, '', 'XX', 'T1', 'France', '<b>'])
    assert.deepEqual(placeOf(header), { country: null, continent: null })
})

test('a session id contains its day, and is the same only for the same viewing', () => {
  const id = sessionIdOf(secret, 20_772, ['a', 'b'])
  assert.equal(dayOfSession(id), 20_772)
  assert.equal(sessionIdOf(secret, 20_772, ['a', 'b']), id)
  assert.notEqual(sessionIdOf(secret, 20_772, ['ab', '']), id)
  assert.notEqual(sessionIdOf(Buffer.from('another'), 20_772, ['a', 'b']), id)
  for (const text of ['', 'ps', `${id}0`, id.slice(1), id.toUpperCase(), `ps'${id.slice(3)}`])
    assert.equal(dayOfSession(text), undefined, text)
})

test('a viewer has a different hash every day', () => {
  assert.equal(viewerOf(secret, 1, 'agent', '192.0.2.1'), viewerOf(secret, 1, 'agent', '192.0.2.1'))
  assert.notEqual(viewerOf(secret, 1, 'agent', '192.0.2.1'), viewerOf(secret, 2, 'agent', '192.0.2.1'))
})
