import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createIpRateLimit } from './ip-rate-limit.ts'

test('an IP address has a burst, and then a fixed rate', () => {
  let now = 0
  const consume = createIpRateLimit(() => now)
  for (let i = 0; i < 3_000; i++) assert.equal(consume('192.0.2.1', 1), 0)
  assert.equal(consume('192.0.2.1', 1), 1)
  assert.equal(consume('192.0.2.1', 200), 4)
  assert.equal(consume('192.0.2.2', 1), 0)
  now += 1_000
  for (let i = 0; i < 50; i++) assert.equal(consume('192.0.2.1', 1), 0)
  assert.equal(consume('192.0.2.1', 1), 1)
})

test('the addresses of an IPv6 network share one limit', () => {
  const consume = createIpRateLimit(() => 0)
  for (let i = 0; i < 3_000; i++) assert.equal(consume(`2001:db8:1:2::${i.toString(16)}`, 1), 0)
  assert.equal(consume('2001:db8:1:2:ffff:1:2:3', 1), 1)
  assert.equal(consume('2001:db8:1:3::1', 1), 0)
  assert.equal(consume('::1', 1), 0)
  assert.equal(consume('::ffff:192.0.2.1', 1), 0)
})

test('memory stays bounded with any number of addresses', () => {
  const consume = createIpRateLimit(() => 0)
  for (let i = 0; i < 120_000; i++) assert.equal(consume(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, 1), 0)
})
