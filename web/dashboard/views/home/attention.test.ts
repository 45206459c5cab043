import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Failure, System } from '../../api/system.ts'
import { attentionOf } from './attention.ts'

const now = Date.parse('2026-03-10T12:00:00Z')
const today = '2026-03-10T08:00:00Z'

const failure = (change: Partial<Failure>): Failure => ({
  videoId: 'vi1',
  environment: 'production',
  title: 'Lesson',
  quality: null,
  reason: 'The file contains no video.',
  failedAt: today,
  canRetry: true,
  ...change,
})

const of = (system: Partial<System>) =>
  attentionOf(
    { isDiskLow: false, failures: [], failingWebhooks: [], diagnosis: null, ...system } as System,
    'production',
    now,
  ).map(({ title, text }) => `${title}: ${text}`)

const diagnosis = (...warnings: NonNullable<System['diagnosis']>['warnings']) => ({
  checkedAt: today,
  isRunning: false,
  warnings,
})

test('nothing needs attention if nothing has failed', () => {
  assert.deepEqual(of({ diagnosis: diagnosis() }), [])
})

test('a video is listed once, with the reason of the entire video', () => {
  const failures = [failure({ quality: 'hls 720p', reason: 'Out of memory.' }), failure({})]
  assert.deepEqual(of({ failures }), ['Lesson: The file contains no video.'])
  assert.deepEqual(of({ failures: failures.slice(0, 1) }), ['Lesson: hls 720p: Out of memory.'])
})

test('failures of the other environment and of earlier weeks are left out', () => {
  const failures = [failure({ environment: 'sandbox' }), failure({ failedAt: '2026-03-01T00:00:00Z' })]
  assert.deepEqual(of({ failures }), [])
})

test('what stops everything comes first, and warnings are one entry at the end', () => {
  const webhook = { webhookId: 'webhook_1', environment: 'production', url: 'https://a.example/' } as const
  const found = of({
    isDiskLow: true,
    failures: [failure({})],
    failingWebhooks: [{ ...webhook, failedAt: today, status: 500, error: null }],
    diagnosis: diagnosis(
      { name: 'backup', state: 'warning', message: 'There is no backup.', advice: null },
      { name: 'ffmpeg', state: 'failed', message: 'ffmpeg is missing.', advice: null },
      { name: 'memory', state: 'warning', message: 'There is little memory.', advice: null },
    ),
  })
  assert.deepEqual(
    found.map((each) => each.split(':')[0]),
    ['The disk is almost full', 'Ffmpeg', 'https', 'Lesson', '2 warnings'],
  )
  assert.equal(found[2], 'https://a.example/: The last delivery failed: status 500')
  assert.equal(found[4], '2 warnings: There is no backup. There is little memory.')
})
