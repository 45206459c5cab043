import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readWait } from './rate-limit.ts'

const now = Date.UTC(2026, 0, 1)
const wait = (status: number, headers: Record<string, string>) => readWait({ status, headers }, now)

test('a refused request tells how long to wait, in seconds or as a date', () => {
  assert.equal(wait(429, { 'retry-after': '7' }), 7_000)
  assert.equal(wait(503, { 'retry-after': 'Thu, 01 Jan 2026 00:00:09 GMT' }), 9_000)
  assert.equal(wait(429, { 'x-ratelimit-retry-after': '42' }), 42_000)
  assert.equal(wait(429, { 'x-ratelimit-reset': String(now / 1000 + 5) }), 5_000)
  assert.equal(wait(429, {}), undefined)
})

test('the last request of a period delays the next one', () => {
  assert.equal(wait(200, { 'x-ratelimit-remaining': '0', 'x-ratelimit-retry-after': '3' }), 3_000)
  assert.equal(wait(200, { 'x-ratelimit-remaining': '1', 'x-ratelimit-retry-after': '3' }), undefined)
})

test('a wait has limits', () => {
  assert.equal(wait(429, { 'retry-after': '99999999' }), 3_600_000)
  assert.equal(wait(429, { 'retry-after': '-5' }), 0)
})
