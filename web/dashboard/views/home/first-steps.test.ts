import assert from 'node:assert/strict'
import { test } from 'node:test'
import { areOffered, stepsOf } from './first-steps.ts'

const video = (state: 'missing' | 'processing' | 'ready', playable = false) => ({
  status: { state, playable, duration: null, width: null, height: null, thumbnailVersion: null },
})
const key = { keyId: 'key', name: 'Key', createdAt: '', lastUsedAt: null, setting: null }
const nothing = { videos: [], keys: [], views: 0, hasCopied: false }

test('each step is done when the service says so', () => {
  const none = { isUploaded: false, isPlayable: false, isShared: false, hasKey: false }
  assert.deepEqual(stepsOf(nothing), none)
  assert.deepEqual(stepsOf({ ...nothing, videos: [video('missing')] }), none)
  assert.deepEqual(stepsOf({ ...nothing, videos: [video('processing')] }), {
    ...none,
    isUploaded: true,
  })
  assert.deepEqual(stepsOf({ ...nothing, keys: [key], views: 1 }), {
    ...none,
    isShared: true,
    hasKey: true,
  })
})

test('the steps are offered until they are done, or there are several videos', () => {
  const done = stepsOf({ videos: [video('ready', true)], keys: [key], views: 0, hasCopied: true })
  assert.equal(areOffered(stepsOf(nothing), 0), true)
  assert.equal(areOffered(done, 1), false)
  assert.equal(areOffered(stepsOf(nothing), 4), false)
})
