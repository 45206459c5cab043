import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSenderLimits } from './ip-rate-limit.ts'

test('an address has a burst, and then so many a second', () => {
  let now = 0
  const use = createSenderLimits(() => now)
  for (let i = 0; i < 3_000; i++) assert.equal(use('192.0.2.1', 1), 0)
  assert.equal(use('192.0.2.1', 1), 1)
  assert.equal(use('192.0.2.1', 200), 4)
  assert.equal(use('192.0.2.2', 1), 0)
  now += 1_000
  for (let i = 0; i < 50; i++) assert.equal(use('192.0.2.1', 1), 0)
  assert.equal(use('192.0.2.1', 1), 1)
})

test('whoever has a network of version 6 is one sender', () => {
  const use = createSenderLimits(() => 0)
  for (let i = 0; i < 3_000; i++) assert.equal(use(`2001:db8:1:2::${i.toString(16)}`, 1), 0)
  assert.equal(use('2001:db8:1:2:ffff:1:2:3', 1), 1)
  assert.equal(use('2001:db8:1:3::1', 1), 0)
  assert.equal(use('::1', 1), 0)
  assert.equal(use('::ffff:192.0.2.1', 1), 0)
})

test('addresses beyond number do not fill the memory', () => {
  const use = createSenderLimits(() => 0)
  for (let i = 0; i < 120_000; i++) assert.equal(use(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`, 1), 0)
})
