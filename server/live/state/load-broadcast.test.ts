import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withinWindow } from './load-broadcast.ts'

const windowMs = 10_000
const segments = (quality: string, ...starts: number[]) =>
  starts.map((start_ms) => ({ quality, start_ms, duration_ms: 2_000 }))

test('viewers can rewind as far as before, also where segments are missing', () => {
  const source = segments('source', 0, 2_000, 4_000, 6_000, 16_000, 18_000, 20_000)
  assert.deepEqual(
    withinWindow(source, windowMs).map(({ start_ms }) => start_ms),
    [16_000, 18_000, 20_000],
  )
  const complete = segments('source', 0, 2_000, 4_000, 6_000, 8_000, 10_000)
  assert.deepEqual(withinWindow(complete, windowMs), complete.slice(1))
})

test('a quality that is behind has a window of its own', () => {
  const source = segments('source', 20_000, 22_000)
  const behind = segments('240p', 0, 2_000, 4_000, 6_000, 8_000, 10_000)
  assert.deepEqual(withinWindow([...behind, ...source], windowMs), [...behind.slice(1), ...source])
})

test('the newest segment is shown however long it is', () => {
  const long = { quality: 'source', start_ms: 0, duration_ms: 60_000 }
  assert.deepEqual(withinWindow([long], windowMs), [long])
})
