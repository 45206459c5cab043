import assert from 'node:assert/strict'
import { test } from 'node:test'
import { en } from './en.ts'

test('the banner of the sandbox shows the settings', () => {
  const banner = en.environments.sandboxBanner
  assert.equal(
    banner({ hasWatermark: true, seconds: 30, hours: 24 }),
    'Sandbox: videos get a watermark, are cut after 30 seconds, and are deleted after 24 hours.',
  )
  assert.equal(
    banner({ hasWatermark: false, seconds: 0, hours: 1 }),
    'Sandbox: videos are deleted after 1 hour.',
  )
  assert.equal(banner({ hasWatermark: false, seconds: 0, hours: 0 }), 'Sandbox')
})
