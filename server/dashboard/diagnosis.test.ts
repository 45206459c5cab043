import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { CheckResult } from '../doctor/check.ts'
import { DiagnosisCache } from './diagnosis.ts'

test('an old result is returned while the checks run again, and says so', async () => {
  const checks = Promise.withResolvers<CheckResult[]>()
  const results = [Promise.resolve([]), checks.promise]
  const deps = { config: {}, publicUrl: () => 'http://localhost', now: () => new Date() }
  let now = 0
  const cache = new DiagnosisCache(
    deps as ConstructorParameters<typeof DiagnosisCache>[0],
    () => results.shift() ?? assert.fail('the checks ran too often'),
    () => now,
  )
  const isRunning = () => cache.find()?.isRunning
  assert.equal(cache.find(), null)
  await turn()
  assert.equal(isRunning(), false)
  now += 5 * 60_000
  assert.deepEqual([isRunning(), isRunning()], [true, true])
  const warning: CheckResult = {
    name: 'backup',
    state: 'warning',
    message: 'There is no backup.',
    advice: 'x',
  }
  checks.resolve([warning, { ...warning, state: 'ok' }])
  await turn()
  assert.deepEqual([isRunning(), cache.find()?.warnings], [false, [warning]])
})
