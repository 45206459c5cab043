import assert from 'node:assert/strict'
import { test } from 'node:test'
import { summarize } from './summary.ts'
import type { Upload } from './types.ts'

const labelOf = (...states: Upload['state'][]) =>
  summarize(states.map((state) => ({ state, sent: 1, size: 2 }) as Upload)).label

test('uploads are counted in one line', () => {
  assert.equal(labelOf('uploading', 'waiting', 'ready'), 'Uploading, 1 of 3 done')
  assert.equal(labelOf('ready'), '1 upload complete')
  assert.equal(labelOf('ready', 'processing'), '2 uploads complete')
  assert.equal(labelOf('paused', 'ready'), '1 upload stopped')
  assert.equal(labelOf('failed'), '1 upload failed')
  assert.equal(labelOf('failed', 'failed'), '2 uploads failed')
  assert.equal(labelOf('ready', 'failed'), '1 upload complete, 1 failed')
  assert.equal(labelOf('uploading', 'failed'), 'Uploading, 0 of 1 done, 1 failed')
})
