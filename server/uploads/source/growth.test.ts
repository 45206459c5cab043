import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDue } from './growth.ts'

const mib = 1024 * 1024
const now = new Date('2026-01-01T12:00:00Z')
const ago = (seconds: number) => new Date(now.getTime() - 1_000 * seconds)

test('a source is examined with its first megabyte', () => {
  const nothing = { examinedBytes: 0, examinedAt: null, now }
  assert.ok(!isDue({ ...nothing, arrivedBytes: mib - 1 }))
  assert.ok(isDue({ ...nothing, arrivedBytes: mib }))
})

test('it is examined again when it has grown by a fifth, or after a while', () => {
  const examined = { examinedBytes: 100 * mib, examinedAt: ago(5), now }
  assert.ok(!isDue({ ...examined, arrivedBytes: 119 * mib }))
  assert.ok(isDue({ ...examined, arrivedBytes: 120 * mib }))
  assert.ok(isDue({ ...examined, examinedAt: ago(22), arrivedBytes: 101 * mib }))
})

test('a large source is examined less often, because that takes longer', () => {
  const examined = { examinedBytes: 10_000 * mib, arrivedBytes: 11_000 * mib, now }
  assert.ok(!isDue({ ...examined, examinedAt: ago(100) }))
  assert.ok(isDue({ ...examined, examinedAt: ago(220) }))
})

test('a source that does not grow is not examined again', () => {
  const examined = { examinedBytes: 100 * mib, examinedAt: ago(3_600), now }
  assert.ok(!isDue({ ...examined, arrivedBytes: 100 * mib }))
})
